// Package event is Salt's state event: it sends events to the master (salt/states/event.py).
package event

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state event.
func Plugin() loader.Plugin { return loader.Plugin{Name: "event", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("send", m.send),
		loader.F("send", m.send).Alias("fire_master"),
		loader.F("send", m.send).Alias("mod_watch"),
		loader.F("wait", m.wait),
	}}, nil
}

type sendArgs struct {
	Name        any
	Data        any       `default:"None"`
	Preload     any       `default:"None"`
	WithEnv     any       `default:"False"`
	WithGrains  any       `default:"False"`
	WithPillar  any       `default:"False"`
	ShowChanged any       `default:"True"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// send sends an event to the master. Further arguments become part of its data.
//
// name
//
//	The tag of the event.
//
// data
//
//	A dictionary with the data of the event.
//
// with_env, with_grains, with_pillar
//
//	Environment variables, grains and pillar to include: True for all, or a list of names.
//
// show_changed
//
//	False: do not report the event as a change.
//
//	mycompany/mytag/something:
//	  event.send:
//	    - data:
//	        foo: Foo!
func (m *module) send(ctx context.Context, a sendArgs) (any, error) {
	changes := data.NewMap("tag", a.Name, "data", a.Data)
	if !data.Truth(a.ShowChanged) {
		changes = &data.Map{}
	}
	if change.Test(ctx) {
		return change.Would(a.Name, changes, "Event would have been fired"), nil
	}
	words := a.Kwargs.Clone()
	words.Update(data.NewMap("data", a.Data, "preload", a.Preload, "with_env", a.WithEnv,
		"with_grains", a.WithGrains, "with_pillar", a.WithPillar))
	sent, err := m.env.Call(ctx, "event.send", []any{a.Name}, words)
	return change.New(a.Name, sent, changes, "Event fired"), err
}

type waitArgs struct {
	Name any
	Sfun any `default:"None"`
	Data any `default:"None"`
}

// wait sends an event only when a watched state changed something.
//
//	mycompany/changed:
//	  event.wait:
//	    - watch:
//	      - file: /etc/motd
func (m *module) wait(_ context.Context, a waitArgs) (any, error) {
	return change.Unchanged(a.Name, ""), nil
}
