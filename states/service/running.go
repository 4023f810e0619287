package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type runningArgs struct {
	Name      string
	Enable    any       `default:"None"`
	Sig       any       `default:"None"`
	InitDelay any       `default:"None"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// A run is one call of running or dead.
type run struct {
	*report
	runningArgs
	enable         any // true, false or nil
	runs, starts   bool
	unmaskedSaying string
}

// begin does what running and dead have in common before they look at the service. done tells that the report is complete.
func (m *module) begin(ctx context.Context, a runningArgs, fun, past string) (r *run, done bool, err error) {
	loader.ContextOf(ctx).Set("service.state", fun)
	r = &run{report: newReport(a.Name), runningArgs: a, enable: toggle(a.Enable)}
	if a.Kwargs.Has("enabled") {
		r.says(false, "Service %s uses non-existent option \"enabled\".  Perhaps \"enable\" option was intended?", a.Name)
		return r, true, nil
	}
	if off, err := m.offline(ctx); off || err != nil {
		r.comment = "Running in OFFLINE mode. Nothing to do"
		return r, true, err
	}
	there, err := m.available(ctx, r.report)
	switch {
	case err != nil:
		_, err = r.took(err)
		return r, true, err
	case there:
		return r, false, nil
	case change.Test(ctx):
		r.says(nil, "Service %s not present; if created in this state run, it would have been %s", a.Name, past)
	case fun == "dead":
		r.result = true
	}
	return r, true, nil
}

// look looks at the service before anything is done.
func (m *module) look(ctx context.Context, r *run) (err error) {
	if r.runs, err = m.runs(ctx, r.report, r.Sig, r.Kwargs); err != nil {
		return err
	}
	r.starts, err = m.starts(ctx, r.name)
	return err
}

// seen looks at the service after it was started or stopped, and notes what has changed.
func (m *module) seen(ctx context.Context, r *run, sig any) (bool, error) {
	if err := wait(ctx, r.InitDelay); err != nil {
		return false, err
	}
	now, err := m.runs(ctx, r.report, sig, r.Kwargs)
	if err != nil {
		return false, err
	}
	starts, err := m.starts(ctx, r.name)
	if now != r.runs || starts != r.starts {
		r.changes.Set(r.name, now)
	}
	return now, err
}

// turnAlso enables or disables the service as the state says; with force false only where that is to be done.
func (m *module) turnAlso(ctx context.Context, r *run, force bool, started, result any) error {
	switch {
	case r.enable == true && (force || !r.starts):
		return m.turn(ctx, r.report, enabling(), started, result, r.Kwargs)
	case r.enable == false && (force || r.starts):
		return m.turn(ctx, r.report, disabling(), started, result, r.Kwargs)
	}
	return nil
}

// joined joins the lines that are not empty.
func joined(lines ...string) string {
	var said []string
	for _, line := range lines {
		if line != "" {
			said = append(said, line)
		}
	}
	return strings.Join(said, "\n")
}

// running has a service run.
//
// enable
//
//	True: it also starts with the system. False: it does not.
//
// sig
//
//	A text to look for in the list of processes, where the service cannot tell itself whether it runs.
//
// init_delay
//
//	Seconds to wait after it was started before it is looked at.
//
// no_block, unmask, unmask_runtime
//
//	With systemd: do not wait for it; take a lasting mask away first, or that until the next boot.
//
//	nginx:
//	  service.running:
//	    - enable: True
//	    - reload: True
//	    - watch:
//	      - file: /etc/nginx/nginx.conf
func (m *module) running(ctx context.Context, a runningArgs) (any, error) {
	r, done, err := m.begin(ctx, a, "running", "started")
	if err == nil && !done {
		err = m.bringUp(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return r.ret(), nil
}

func (m *module) bringUp(ctx context.Context, r *run) error {
	if err := m.look(ctx, r); err != nil {
		return err
	}
	if data.Truth(r.Kwargs.Value("unmask")) {
		ret, err := m.mask(ctx, maskArgs{r.name, data.Truth(r.Kwargs.Value("unmask_runtime"))}, false)
		if err != nil {
			return err
		}
		r.unmaskedSaying = data.Str(ret.Comment)
	}
	switch {
	case r.runs:
		r.comment = joined("The service "+r.name+" is already running", r.unmaskedSaying)
		return m.turnAlso(ctx, r, false, nil, true)
	case change.Test(ctx):
		r.says(nil, "%s", joined("Service "+r.name+" is set to start", r.unmaskedSaying))
		return nil
	}
	ok, err := m.ask(ctx, "start", r.name, nil, m.systemdWords(r.report, "start", r.Kwargs))
	switch {
	case err != nil:
		_, err = r.took(err)
		return err
	case !ok:
		r.says(false, "Service %s failed to start", r.name)
		return m.turnAlso(ctx, r, true, false, false)
	}
	return m.started(ctx, r)
}

// started says what came of a start.
func (m *module) started(ctx context.Context, r *run) error {
	now, err := m.seen(ctx, r, r.Sig)
	if err != nil {
		return err
	}
	r.says(true, "Started service %s", r.name)
	if !now {
		r.says(false, "Service %s failed to start", r.name)
	}
	if err := m.turnAlso(ctx, r, true, now, now); err != nil {
		return err
	}
	if data.Truth(r.InitDelay) {
		r.comment += fmt.Sprintf("\nDelayed return for %s seconds", data.Str(r.InitDelay))
	}
	if data.Truth(r.Kwargs.Value("unmask")) {
		r.comment += "\n" + r.unmaskedSaying
	}
	return nil
}

// dead has a service not run.
//
// enable
//
//	False: it also does not start with the system. True: it does.
//
// sig
//
//	A text to look for in the list of processes, where the service cannot tell itself whether it runs.
//
// init_delay
//
//	Seconds to wait after it was stopped before it is looked at.
//
// no_block
//
//	With systemd: do not wait for it.
//
//	telnetd:
//	  service.dead:
//	    - enable: False
func (m *module) dead(ctx context.Context, a runningArgs) (any, error) {
	r, done, err := m.begin(ctx, a, "dead", "stopped")
	if err == nil && !done {
		err = m.bringDown(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return r.ret(), nil
}

func (m *module) bringDown(ctx context.Context, r *run) error {
	if err := m.look(ctx, r); err != nil {
		return err
	}
	switch {
	case !r.runs:
		r.comment = "The service " + r.name + " is already dead"
		return m.turnAlso(ctx, r, false, nil, true)
	case change.Test(ctx):
		r.says(nil, "Service %s is set to be killed", r.name)
		return nil
	}
	ok, err := m.ask(ctx, "stop", r.name, nil, m.systemdWords(r.report, "stop", r.Kwargs))
	if err != nil {
		return err
	}
	if !ok {
		r.says(false, "Service %s failed to die", r.name)
		return m.turnAlso(ctx, r, true, true, false)
	}
	now, err := m.seen(ctx, r, nil)
	if err != nil {
		return err
	}
	r.says(true, "Service %s was killed", r.name)
	if now {
		r.says(false, "Service %s failed to die", r.name)
	}
	return m.turnAlso(ctx, r, true, now, !now)
}
