// Package status is Salt's state status: it watches the load and the processes of the host
// (salt/states/status.py). It uses the module status.
//
// Differences from Salt: limits are compared as numbers.
package status

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state status.
func Plugin() loader.Plugin { return loader.Plugin{Name: "status", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("loadavg", m.loadavg),
		loader.F("process", m.process),
	}}, nil
}

// result returns the result of a state that watches something.
func result(name string, ok bool, comment string, found any) (change.Result, error) {
	verdict := change.Failure
	if ok {
		verdict = change.Success
	}
	return change.Result{Name: name, Verdict: verdict, Comment: comment,
		More: data.NewMap("data", found)}, nil
}

type loadArgs struct {
	Name    string
	Maximum any `default:"None"`
	Minimum any `default:"None"`
}

// loadavg succeeds if the load average of the host is within limits. It changes nothing.
//
// name
//
//	1-min, 5-min or 15-min.
//
// minimum, maximum
//
//	The limits.
//
//	1-min:
//	  status.loadavg:
//	    - maximum: '4.0'
func (m *module) loadavg(ctx context.Context, a loadArgs) (change.Result, error) {
	all, err := change.Ask[*data.Map](ctx, m.env, "status.loadavg", nil, nil)
	if err != nil {
		return change.Result{}, err
	}
	now, ok := all.Get(a.Name)
	if !ok {
		return result(a.Name, false, "Requested load average "+a.Name+" not available ", &data.Map{})
	}
	var limits [2]float64
	for i, v := range []any{a.Minimum, a.Maximum} {
		if data.Truth(v) {
			if limits[i], err = loader.Float(v); err != nil {
				return change.Result{}, err
			}
		}
	}
	if data.Truth(a.Minimum) && data.Truth(a.Maximum) && limits[0] >= limits[1] {
		return result(a.Name, false, "Min must be less than max", &data.Map{})
	}
	load, err := loader.Float(now)
	switch {
	case err != nil:
		return change.Result{}, err
	case data.Truth(a.Minimum) && load < limits[0]:
		return result(a.Name, false,
			"Load avg is below minimum of "+data.Str(a.Minimum)+" at "+data.Str(load), now)
	case data.Truth(a.Maximum) && load > limits[1]:
		return result(a.Name, false, "Load avg above maximum of "+data.Str(a.Maximum)+" at "+data.Str(load),
			now)
	}
	return result(a.Name, true, "Load avg in acceptable range", now)
}

type processArgs struct{ Name string }

// process succeeds if a process runs whose command line has a text. It changes nothing.
//
//	sshd -D:
//	  status.process
func (m *module) process(ctx context.Context, a processArgs) (change.Result, error) {
	pids, err := change.Ask[any](ctx, m.env, "status.pid", []any{a.Name}, nil)
	switch {
	case err != nil:
		return change.Result{}, err
	case !data.Truth(pids):
		return result(a.Name, false, `Process signature "`+a.Name+`" not found `, &data.Map{})
	}
	return result(a.Name, true, `Process signature "`+a.Name+`" was found `, pids)
}
