package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
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
	enable       any // true, false or nil
	runs, starts bool
}

// begin does the common first steps of running and dead. done is true if the report is complete.
func (m *module) begin(
	ctx context.Context, a runningArgs, fun, past string,
) (r *run, done bool, err error) {
	loader.ContextOf(ctx).Set("service.state", fun)
	r = &run{report: newReport(a.Name), runningArgs: a, enable: toggle(a.Enable)}
	if a.Kwargs.Has("enabled") {
		r.set(false, "Service %s uses non-existent option \"enabled\".  Perhaps \"enable\" option was intended?", a.Name)
		return r, true, nil
	}
	if off, err := m.offline(ctx); off || err != nil {
		r.comment = "Running in OFFLINE mode. Nothing to do"
		return r, true, err
	}
	there, err := m.available(ctx, r.report)
	switch {
	case err != nil:
		_, err = r.failed(err)
		return r, true, err
	case there:
		return r, false, nil
	case change.Test(ctx):
		r.set(nil, "Service %s not present; if created in this state run, it would have been %s",
			a.Name, past)
	case fun == "dead":
		r.result = true
	}
	return r, true, nil
}

// look checks the service before anything is done.
func (m *module) look(ctx context.Context, r *run) (err error) {
	if r.runs, err = m.runs(ctx, r.report, r.Sig, r.Kwargs); err != nil {
		return err
	}
	r.starts, err = m.starts(ctx, r.name)
	return err
}

// seen checks the service after it was started or stopped, and records the changes.
func (m *module) seen(ctx context.Context, r *run, up bool) (bool, error) {
	var sig any
	if up {
		sig = r.Sig // dead does not pass it, as in Salt
	}
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

// turnAlso enables or disables the service according to the argument enable. With force false it
// does so only if necessary.
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
	var nonEmpty []string
	for _, line := range lines {
		if line != "" {
			nonEmpty = append(nonEmpty, line)
		}
	}
	return strings.Join(nonEmpty, "\n")
}

// running starts a service.
//
// enable
//
//	True: also start it at boot. False: do not.
//
// sig
//
//	A text to search for in the list of processes, if the service cannot report whether it runs.
//
// init_delay
//
//	Seconds to wait after starting it before checking it.
//
// no_block, unmask, unmask_runtime
//
//	With systemd: do not wait for the start; first remove a permanent mask, or a runtime mask.
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
	unmasked, unmask := "", data.Truth(r.Kwargs.Value("unmask"))
	if unmask {
		ret, err := m.mask(ctx, maskArgs{r.name, data.Truth(r.Kwargs.Value("unmask_runtime"))},
			false)
		if err != nil {
			return err
		}
		unmasked = data.Str(ret.Comment)
	}
	seen, err := m.bring(ctx, r, true, change.Texts{
		Same:   joined("The service "+r.name+" is already running", unmasked),
		Would:  joined("Service "+r.name+" is set to start", unmasked),
		Done:   "Started service " + r.name,
		Failed: "Service " + r.name + " failed to start",
	})
	if !seen {
		return err
	}
	if data.Truth(r.InitDelay) {
		r.comment += fmt.Sprintf("\nDelayed return for %s seconds", data.Str(r.InitDelay))
	}
	if unmask {
		r.comment += "\n" + unmasked
	}
	return err
}

// dead stops a service.
//
// enable
//
//	False: also do not start it at boot. True: do.
//
// sig
//
//	A text to search for in the list of processes, if the service cannot report whether it runs.
//
// init_delay
//
//	Seconds to wait after stopping it before checking it.
//
// no_block
//
//	With systemd: do not wait for the stop.
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
	_, err := m.bring(ctx, r, false, change.Texts{
		Same:   "The service " + r.name + " is already dead",
		Would:  "Service " + r.name + " is set to be killed",
		Done:   "Service " + r.name + " was killed",
		Failed: "Service " + r.name + " failed to die",
	})
	return err
}

// bring starts or stops the service, and enables or disables it according to the state. seen
// reports whether it was started or stopped, and checked again.
func (m *module) bring(
	ctx context.Context, r *run, up bool, texts change.Texts,
) (seen bool, err error) {
	called, now := false, !up
	ret, err := change.Thing[*run]{
		Look:  func(ctx context.Context) (*run, error) { return r, change.Raise(m.look(ctx, r)) },
		Wants: func(r *run) *data.Map { return change.When(r.runs != up, data.NewMap(r.name, up)) },
		Apply: func(ctx context.Context, r *run) error {
			ok, err := m.order(ctx, r, up)
			if called = err == nil; !called {
				return err
			}
			if ok {
				seen = true
				now, err = m.seen(ctx, r, up)
			}
			if err == nil && now != up {
				return change.Reason(texts.Failed)
			}
			return change.Raise(err)
		},
		Texts: texts,
		Trust: true, // already checked, so that the service is enabled even if it failed
	}.Ensure(ctx)
	r.take(ret)
	switch {
	case err != nil || ret.Verdict == change.Pending || ret.Failed() && !called:
		return seen, err
	case !called:
		return seen, m.turnAlso(ctx, r, false, nil, true)
	}
	return seen, m.turnAlso(ctx, r, true, now, now == up)
}

// order starts or stops the service with the module. An error when starting is a failure.
func (m *module) order(ctx context.Context, r *run, up bool) (bool, error) {
	if up {
		ok, err := calls.ServiceStart(ctx, m.env, r.name,
			m.systemdWords(r.report, "start", r.Kwargs))
		return ok, change.Except(err, loader.KindExecution)
	}
	ok, err := calls.ServiceStop(ctx, m.env, r.name, m.systemdWords(r.report, "stop", r.Kwargs))
	return ok, change.Raise(err)
}
