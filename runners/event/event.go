// Package event is Salt's runner event: it fires events on the master's bus
// (salt/runners/event.py).
package event

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner event.
func Plugin() loader.Plugin { return loader.Plugin{Name: "event", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("send", m.send)}}, nil
}

type sendArgs struct {
	Tag  string
	Data any `default:"None"`
}

// send fires an event on the master's bus, with the tag unchanged. It returns False if no master
// accepts it.
//
// tag
//
//	The tag.
//
// data
//
//	A dictionary with the contents.
//
// CLI Example:
//
//	salt-run event.send my/custom/event '{"foo": "bar"}'
func (m *module) send(ctx context.Context, a sendArgs) (any, error) {
	body, ok := a.Data.(*data.Map)
	if !ok && data.Truth(a.Data) {
		return nil, loader.Exception("ValueError", "Dict object expected, not '%s'.",
			data.Repr(a.Data))
	}
	if m.env.Host.FireMaster == nil {
		return nil, &runners.UnableError{Text: "No master bus is available here."}
	}
	if body == nil {
		body = data.NewMap()
	}
	if err := m.env.Host.FireMaster(ctx, a.Tag, body); err != nil {
		m.env.Log.WithError(err).Debugf("fire event %s", a.Tag)
		return false, nil
	}
	return true, nil
}
