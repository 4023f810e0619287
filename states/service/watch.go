package service

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type watchArgs struct {
	Name        string
	Sfun        any       `default:"None"`
	Sig         any       `default:"None"`
	Reload      bool      `default:"False"`
	FullRestart bool      `default:"False"`
	InitDelay   any       `default:"None"`
	Force       bool      `default:"False"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// modWatch restarts a service that is to run, or stops one that is not to run, when a watched state
// changed something.
//
// reload
//
//	True: reload the service instead of restarting it; with force True restart it if it cannot
//	reload.
//
// full_restart
//
//	True: stop and start it, if the module distinguishes this from a restart.
//
// init_delay
//
//	Seconds to wait afterwards.
//
//	nginx:
//	  service.running:
//	    - reload: True
//	    - watch:
//	      - file: /etc/nginx/nginx.conf
func (m *module) modWatch(ctx context.Context, a watchArgs) (any, error) {
	r := newReport(a.Name)
	if a.Sfun != "dead" && a.Sfun != "running" {
		r.set(false, "Unable to trigger watch for service.%s", data.Str(a.Sfun))
		return r.ret(), nil
	}
	runs, err := m.runs(ctx, r, a.Sig, a.Kwargs)
	if err != nil {
		return nil, err
	}
	fun, verb := m.reaction(a, runs)
	past := verb + "ed"
	switch {
	case verb == "stop":
		past = "stopped"
	case verb == "":
		r.comment = "Service is already stopped"
		return r.ret(), nil
	}
	if change.Test(ctx) {
		r.set(nil, "Service is set to be %s", past)
		return r.ret(), nil
	}
	if verb == "start" && m.has("stop") {
		if _, err := calls.ServiceStop(ctx, m.env, a.Name, nil); err != nil {
			return nil, err
		}
	}
	return m.react(ctx, r, a, fun, verb, past)
}

// reaction returns the module's function to call for a watch, and the verb for it. Both are empty
// if there is nothing to do.
func (m *module) reaction(a watchArgs, runs bool) (fun, verb string) {
	switch {
	case a.Sfun == "dead" && !runs:
		return "", ""
	case a.Sfun == "dead":
		return "stop", "stop"
	case !runs:
		return "start", "start"
	case a.Reload && m.has("reload") && a.Force && m.has("force_reload"):
		return "force_reload", "forcefully reload"
	case a.Reload && m.has("reload"):
		return "reload", "reload"
	case a.FullRestart && m.has("full_restart"):
		return "full_restart", "fully restart"
	}
	return "restart", "restart"
}

// react calls the function and reports the outcome.
func (m *module) react(
	ctx context.Context, r *report, a watchArgs, fun, verb, past string,
) (any, error) {
	v, err := m.env.Call(ctx, "service."+fun, []any{a.Name}, m.systemdWords(r, fun, a.Kwargs))
	if err != nil {
		return r.failed(err)
	}
	if err := wait(ctx, a.InitDelay); err != nil {
		return nil, err
	}
	r.changes.Set(a.Name, v)
	r.set(v, "Service %s", past)
	if !data.Truth(v) {
		r.comment = "Failed to " + verb + " the service"
	}
	return r.ret(), nil
}

type beaconArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modBeacon adds a beacon for a service whose state has beacon: True. beacon_data are the beacon's
// settings.
//
//	nginx:
//	  service.running:
//	    - beacon: True
//	    - beacon_data:
//	        interval: 30
func (m *module) modBeacon(ctx context.Context, a beaconArgs) (any, error) {
	switch sfun := a.Kwargs.Value("sfun"); {
	case sfun != "running" && sfun != "dead":
		return change.Failed(a.Name, "service."+data.Str(sfun)+
			" does not work with the beacon state function"), nil
	case !data.Truth(a.Kwargs.Value("beacon")):
		return change.Unchanged(a.Name, "Not adding beacon."), nil
	}
	settings, _ := a.Kwargs.Value("beacon_data").(*data.Map)
	or := func(key string, otherwise any) any {
		if v, ok := settings.Get(key); ok {
			return v
		}
		return otherwise
	}
	watch := data.NewMap("onchangeonly", or("onchangeonly", true), "delay", or("delay", int64(0)),
		"emitatstartup", or("emitatstartup", false), "uncleanshutdown", or("emitatstartup", nil))
	states := m.env.Registry("states")
	if !states.Has("beacon.present") {
		return nil, loader.Execution("add a beacon for service %s: the state beacon.present is not available", a.Name)
	}
	return states.Invoke(ctx, "beacon.present", nil,
		data.NewMap("name", "beacon_service_"+a.Name, "services", data.NewMap(a.Name, watch),
			"interval", or("interval", int64(60)), "beacon_module", "service"))
}
