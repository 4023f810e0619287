package service

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// A turn describes how to enable or disable a service: the functions of the module, and the texts
// for comments.
type turn struct {
	do, is      string // functions of the module
	order, ask  calls.ServiceCall
	done, fails string
	alone       string // for a module that cannot do it
	missing     any    // result if the service does not exist
	kwargs      bool   // pass keyword arguments to is as well
}

func enabling() turn {
	return turn{
		do: "enable", is: "enabled", order: calls.ServiceEnable, ask: calls.ServiceEnabled,
		done: "enabled", fails: "to start at boot", alone: "Enable", missing: false, kwargs: true,
	}
}

func disabling() turn {
	return turn{
		do: "disable", is: "disabled", order: calls.ServiceDisable, ask: calls.ServiceDisabled,
		done: "disabled", fails: "to not start at boot", alone: "Disable", missing: true,
	}
}

// condition returns the part of the comment on a service that was started (true), was not started
// (false), or is as desired (nil).
func condition(started any) string {
	switch started {
	case true:
		return "is running"
	case nil:
		return "is in the desired state"
	}
	return "is dead"
}

// failure returns the comment on a service that could not be enabled or disabled.
func (t turn) failure(name string, started any) string {
	text := "Failed when setting service " + name + " " + t.fails
	enables := t.do == "enable"
	switch {
	case started == true && enables:
		return text + ", but the service is running"
	case started == true:
		return text + ", and is running"
	case started == nil:
		return text + ", but the service was already running"
	}
	return text + ", and the service is dead"
}

// turn enables or disables a service and adds the outcome to the report. result is the result on
// success. started is described at condition.
func (m *module) turn(
	ctx context.Context, r *report, t turn, started, result any, kwargs *data.Map,
) error {
	there, err := m.available(ctx, r)
	if err != nil {
		_, err = r.failed(err)
		return err
	}
	if !there {
		r.result = t.missing
		return nil
	}
	r.result = result
	if !m.has(t.do) || !m.has(t.is) {
		r.comment = t.alone + " is not available on this minion, service " + r.name + " " +
			alone(started)
		return nil
	}
	ret, err := change.Thing[bool]{
		Look: func(ctx context.Context) (bool, error) {
			now, err := m.turned(ctx, r.name, t, kwargs)
			return now, change.Raise(err)
		},
		Wants: func(now bool) *data.Map { return change.When(!now, data.NewMap(r.name, true)) },
		Apply: func(ctx context.Context, _ bool) error { return m.apply(ctx, r, t, started, kwargs) },
		Texts: change.Texts{
			Same:  "Service " + r.name + " is already " + t.done + ", and " + condition(started),
			Would: "Service " + r.name + " set to be " + t.done,
			Done:  "Service " + r.name + " has been " + t.done + ", and " + condition(started),
		},
		Trust: true, // static units are never enabled
	}.Ensure(ctx)
	if err != nil {
		return err
	}
	r.take(ret)
	if ret.Verdict == change.Success {
		r.result = result
	}
	return nil
}

// alone is condition for a module that cannot enable or disable services.
func alone(started any) string {
	if started == true {
		return "started"
	}
	return condition(started)
}

// turned reports whether a service is already enabled, or disabled.
func (m *module) turned(ctx context.Context, name string, t turn, kwargs *data.Map) (bool, error) {
	if !t.kwargs {
		kwargs = nil
	}
	return t.ask(ctx, m.env, name, kwargs)
}

// apply enables or disables a service and records the changes in the report.
func (m *module) apply(
	ctx context.Context, r *report, t turn, started any, kwargs *data.Map,
) error {
	ok, err := t.order(ctx, m.env, r.name, kwargs)
	if err != nil && (loader.KindOf(err) != loader.KindExecution || t.do != "enable") {
		return change.Raise(err)
	}
	if !ok {
		text := t.failure(r.name, started)
		if err != nil && err.Error() != "" {
			text += ". Additional information follows:\n\n" + err.Error()
		}
		return change.Reason(text)
	}
	after, err := m.turned(ctx, r.name, t, kwargs)
	r.changes = change.When(after, data.NewMap(r.name, true))
	return change.Raise(err)
}

type turnArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// enabled makes a service start at boot, whether or not it runs now. Further arguments are passed
// to the module's function.
//
//	nginx:
//	  service.enabled
func (m *module) enabled(ctx context.Context, a turnArgs) (any, error) {
	loader.ContextOf(ctx).Set("service.state", "enabled")
	r := newReport(a.Name)
	if err := m.turn(ctx, r, enabling(), nil, true, a.Kwargs); err != nil {
		return nil, err
	}
	if change.Test(ctx) && r.comment == "The named service "+a.Name+" is not available" {
		r.set(nil, "Service %s not present; if created in this state run, it would have been enabled", a.Name)
	}
	return r.ret(), nil
}

// disabled makes a service not start at boot, whether or not it runs now. Further arguments are
// passed to the module's function.
//
//	nginx:
//	  service.disabled
func (m *module) disabled(ctx context.Context, a turnArgs) (any, error) {
	loader.ContextOf(ctx).Set("service.state", "disabled")
	r := newReport(a.Name)
	if err := m.turn(ctx, r, disabling(), nil, true, a.Kwargs); err != nil {
		return nil, err
	}
	return r.ret(), nil
}
