// Package beacons is Salt's module beacons: it shows and changes the beacons of the minion
// (salt/modules/beacons.py).
//
// The module sends manage_beacons events to the running minion and waits for the events that answer
// them. See the top-level package beacons for the other end. Under salt-call it finds the minion of
// the host by the sockets of its event bus. Changes are lost when the minion ends unless they are
// saved, in the file beacons.conf of the minion's configuration.
//
// Differences from Salt: where no minion answers, functions return result False instead of raising
// an exception. beacons.save accepts test, and makes the directory of its file.
package beacons

import (
	"context"
	"fmt"
	"time"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module beacons.
func Plugin() loader.Plugin { return loader.Plugin{Name: "beacons", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("list", m.list).Def("list_"),
		loader.F("list_available", m.listAvailable),
		loader.F("add", m.add),
		loader.F("modify", m.modify),
		loader.F("delete", m.delete),
		loader.F("save", m.save),
		loader.F("enable", m.enable),
		loader.F("disable", m.disable),
		loader.F("enable_beacon", m.enableBeacon),
		loader.F("disable_beacon", m.disableBeacon),
		loader.F("reset", m.reset),
	}}, nil
}

type nameArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

type dataArgs struct {
	Name       any
	BeaconData any
	Kwargs     *data.Map `kwargs:"kwargs"`
}

type keywords struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

const requestTag = "manage_beacons"

// ask sends a request to the minion and returns its answer, nil if none arrives within the keyword
// timeout.
func (m *module) ask(ctx context.Context, kwargs *data.Map, answer string, pairs ...any) *data.Map {
	limit := time.Duration(timeout(kwargs) * float64(time.Second))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, err := m.env.Await(ctx, beacons.AnswerTag+answer,
		func() error { return m.env.Fire(ctx, requestTag, data.NewMap(pairs...)) })
	if err != nil {
		m.env.Log.WithError(err).Debugf("request %s about the beacons", data.Str(pairs[1]))
		return nil
	}
	return body
}

// timeout returns the seconds to wait for an answer.
func timeout(kwargs *data.Map) float64 {
	switch v := kwargs.Value("timeout").(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 60
}

// change asks the minion for a change and writes the outcome into ret. what names the event in the
// text about a missing answer. done is called for a completed change with the beacons of the options.
func (m *module) change(
	ctx context.Context, ret, kwargs *data.Map, answer, what string, done func(beacons *data.Map),
	pairs ...any,
) *data.Map {
	body := m.ask(ctx, kwargs, answer, pairs...)
	switch {
	case body == nil:
		return failed(ret, fmt.Sprintf("Did not receive the beacon %s event before the timeout of %ss", what,
			data.Str(shownTimeout(kwargs))))
	case !data.Truth(body.Value("complete")):
		return failed(ret, body.Value("comment"))
	}
	beacons, _ := body.Value("beacons").(*data.Map)
	done(beacons)
	return ret
}

func shownTimeout(kwargs *data.Map) any {
	if v, ok := kwargs.Get("timeout"); ok {
		return v
	}
	return int64(60)
}

// result returns the result of a function.
func result(comment any, ok bool) *data.Map { return data.NewMap("comment", comment, "result", ok) }

// failed sets a comment and result False.
func failed(ret *data.Map, comment any) *data.Map { return set(ret, false, comment) }

func set(ret *data.Map, ok bool, comment any) *data.Map {
	ret.Set("comment", comment)
	ret.Set("result", ok)
	return ret
}

// isTest reports whether a call only says what it would do.
func isTest(kwargs *data.Map) bool { return data.Truth(kwargs.Value("test")) }

// has reports whether a beacon of that name exists.
func has(beacons *data.Map, name any) bool { return data.Hashable(name) && beacons.Has(name) }
