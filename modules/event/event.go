// Package event is Salt's module event: it fires events on the minion's own bus and, through the
// minion, on the master's (salt/modules/event.py).
//
// Without a master (file_client: local, or salt-call --local) event.send fires on the minion's bus.
// event.fire_master then logs that it does not send, unless the option use_master_when_local is
// set.
package event

import (
	"context"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module event.
func Plugin() loader.Plugin { return loader.Plugin{Name: "event", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("fire_master", m.fireMaster),
		loader.F("fire", m.fire),
		loader.F("send", m.send),
	}}, nil
}

// local reports whether there is no master.
func (m *module) local() bool {
	local := data.Truth(m.env.Option("local")) || m.env.Option("file_client") == "local"
	return local && !data.Truth(m.env.Option("use_master_when_local"))
}

type fireMasterArgs struct {
	Data    any
	Tag     any
	Preload any `default:"None"`
}

// fireMaster fires an event on the bus of the minion's masters. It returns whether that succeeded.
//
// preload
//
//	Fields of the request to the master besides id, tag and data.
//
// CLI Example:
//
//	salt '*' event.fire_master '{"data":"my event data"}' 'tag'
func (m *module) fireMaster(ctx context.Context, a fireMasterArgs) (any, error) {
	if m.local() {
		m.env.Log.Warnf("Local mode detected. Event with tag %s will NOT be sent.", data.Str(a.Tag))
		return false, nil
	}
	if data.Truth(a.Preload) || m.env.Option("__cli") == "salt-call" {
		return m.request(ctx, a), nil
	}
	return m.env.Fired(ctx, "fire_master", data.NewMap("data", a.Data, "tag", a.Tag, "events", nil,
		"pretag", nil)), nil
}

// request sends the event directly instead of through the minion.
func (m *module) request(ctx context.Context, a fireMasterArgs) bool {
	if m.env.Host.Masters == nil {
		m.env.Log.Warnf("Event %s not sent: no connection to a master", data.Str(a.Tag))
		return false
	}
	load := data.NewMap("cmd", "_minion_event", "id", m.env.Option("id"), "tag", a.Tag,
		"data", a.Data)
	if more, ok := a.Preload.(*data.Map); ok {
		load.Update(more)
	}
	if err := m.env.Host.Masters.RequestAll(ctx, load); err != nil {
		m.env.Log.WithError(err).Warnf("Unable to send event %s", data.Str(a.Tag))
		return false
	}
	return true
}

type fireArgs struct {
	Data any
	Tag  any
}

// fire fires an event on the minion's own bus. The data must be a dictionary. It returns whether
// that succeeded.
//
// CLI Example:
//
//	salt '*' event.fire '{"data":"my event data"}' 'tag'
func (m *module) fire(ctx context.Context, a fireArgs) (any, error) {
	body, ok := a.Data.(*data.Map)
	if !ok || !data.Truth(a.Tag) {
		m.env.Log.Debugf("Event %s not fired: it needs a tag and a dictionary", data.Str(a.Tag))
		return false, nil
	}
	return m.env.Fired(ctx, data.Str(a.Tag), body), nil
}

type sendArgs struct {
	Tag         any
	Data        any       `default:"None"`
	Preload     any       `default:"None"`
	WithEnv     any       `default:"False"`
	WithGrains  any       `default:"False"`
	WithPillar  any       `default:"False"`
	WithEnvOpts any       `default:"False"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// send fires an event on the bus of the minion's masters. Further keyword arguments are added to
// its data. It returns whether that succeeded.
//
// tag
//
//	The tag. Slashes in it form namespaces for related events: myco/build/server1/start.
//
// data
//
//	A dictionary, the data of the event.
//
// preload
//
//	Fields of the request to the master besides id, tag and data.
//
// with_env : False
//
//	Include the minion's environment in the data as environ: True for all of it, or a list of names.
//
// with_grains : False
//
//	Include the grains in the data: True for all, or a list of names.
//
// with_pillar : False
//
//	Include the pillar in the data: True for all, or a list of keys. It may be secret.
//
// with_env_opts : False
//
//	Include the options saltenv and pillarenv in the data.
//
// CLI Example:
//
//	salt-call event.send myco/mytag foo=Foo bar=Bar
//	salt-call event.send 'myco/mytag' '{foo: Foo, bar: Bar}'
func (m *module) send(ctx context.Context, a sendArgs) (any, error) {
	body := data.NewMap()
	for _, part := range []struct {
		name string
		with any
		all  func() *data.Map
	}{
		{"environ", a.WithEnv, environ}, {"grains", a.WithGrains, m.env.GrainsNow},
		{"pillar", a.WithPillar, m.env.PillarNow},
	} {
		if data.Truth(part.with) {
			body.Set(part.name, some(part.all(), part.with))
		}
	}
	if data.Truth(a.WithEnvOpts) {
		saltenv, ok := m.env.Opts.Get("saltenv")
		if !ok {
			saltenv = "base"
		}
		body.Set("saltenv", saltenv)
		body.Set("pillarenv", m.env.Option("pillarenv"))
	}
	body.Update(a.Kwargs)
	if more, ok := a.Data.(*data.Map); ok {
		body.Update(more)
	}
	if m.local() || m.env.Option("master_type") == "disable" &&
		!data.Truth(m.env.Option("use_master_when_local")) {
		return m.fire(ctx, fireArgs{body, a.Tag})
	}
	return m.fireMaster(ctx, fireMasterArgs{body, a.Tag, a.Preload})
}

// environ returns the environment of the process.
func environ() *data.Map {
	all := data.NewMap()
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			all.Set(name, value)
		}
	}
	return all
}

// some returns the keys of a dictionary that a list names, or all.
func some(all *data.Map, which any) *data.Map {
	names, ok := which.([]any)
	if !ok {
		return all
	}
	found := data.NewMap()
	for k, v := range all.All() {
		for _, name := range names {
			if data.Equal(name, k) {
				found.Set(k, v)
				break
			}
		}
	}
	return found
}
