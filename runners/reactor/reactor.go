// Package reactor is Salt's runner reactor: it shows and changes the rules of the running master's
// reactor (salt/runners/reactor.py). Changes last until the option reactor changes or the master
// ends.
//
// Its request events prove that the sender can read root's key on this host. Unlike Salt's they do
// not contain the key itself, so a Salt master, which checks for it, does not answer.
package reactor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/reactor"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner reactor.
func Plugin() loader.Plugin { return loader.Plugin{Name: "reactor", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("list", m.list).Def("list_"),
		loader.F("add", m.add),
		loader.F("delete", m.remove),
		loader.F("is_leader", m.isLeader),
		loader.F("set_leader", m.setLeader),
	}}, nil
}

// patience is the timeout for an answer.
const patience = 30 * time.Second

// manage is part of the tags of requests and answers.
const manage = reactor.ManageTag + "/"

// ask sends a request to the reactor and returns the field of its answer.
func (m *module) ask(
	ctx context.Context, command string, body *data.Map, answer, field string,
) (any, error) {
	if !m.available() {
		return nil, loader.Execution("Reactor system is not running.")
	}
	if m.env.Host.FireMaster == nil {
		return nil, &runners.UnableError{Text: "No master bus is available here."}
	}
	key, err := os.ReadFile(filepath.Join(m.env.Opts.Text("cachedir"), ".root_key"))
	if err != nil {
		return nil, fmt.Errorf("read the key of root: %w", err)
	}
	reactor.Sign(strings.TrimSpace(string(key)), command, body)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	bus, err := eventbus.Dial(ctx, eventbus.MasterSockets(m.env.Opts.Text("sock_dir")),
		eventbus.ClientOptions{Subscribe: eventbus.SubscribeOptions{Prefixes: []string{manage + answer}}})
	if err != nil {
		return nil, err
	}
	defer bus.Close()
	tag := strings.TrimPrefix(runners.RunOf(ctx).Tag+"/"+manage+command, "/")
	if err := m.env.Host.FireMaster(ctx, tag, body); err != nil {
		return nil, err
	}
	event, err := bus.Next(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("the reactor did not answer within %v", patience)
	case err != nil:
		return nil, err
	}
	reply, err := event.Map()
	return reply.Value(field), err
}

// available reports whether the configuration has a reactor.
func (m *module) available() bool {
	engines, _ := m.env.Option("engines").([]any)
	for _, engine := range engines {
		if named, ok := engine.(*data.Map); engine == "reactor" || ok && named.Has("reactor") {
			return true
		}
	}
	return data.Truth(m.env.Option("reactor"))
}

type listArgs struct {
	Saltenv string `default:"'base'"`
	Test    any    `default:"None"`
}

// list returns the rules of the reactor.
//
// CLI Example:
//
//	salt-run reactor.list
func (m *module) list(ctx context.Context, _ listArgs) (any, error) {
	return m.ask(ctx, "list", data.NewMap(), "list-results", "reactors")
}

type addArgs struct {
	Event    any
	Reactors any
	Saltenv  string `default:"'base'"`
	Test     any    `default:"None"`
}

// add adds a rule. A tag that already has a rule keeps it.
//
// event
//
//	The tag, or a glob.
//
// reactors
//
//	A file, or a list of files.
//
// CLI Example:
//
//	salt-run reactor.add 'salt/minion/*/start' reactors='/srv/reactor/start.sls'
func (m *module) add(ctx context.Context, a addArgs) (any, error) {
	if text, ok := a.Reactors.(string); ok {
		a.Reactors = []any{text}
	}
	return m.ask(ctx, "add", data.NewMap("event", a.Event, "reactors", a.Reactors),
		"add-complete", "result")
}

type deleteArgs struct {
	Event   any
	Saltenv string `default:"'base'"`
	Test    any    `default:"None"`
}

// remove deletes the rule of a tag.
//
// CLI Example:
//
//	salt-run reactor.delete 'salt/minion/*/start'
func (m *module) remove(ctx context.Context, a deleteArgs) (any, error) {
	return m.ask(ctx, "delete", data.NewMap("event", a.Event), "delete-complete", "result")
}

type isLeaderArgs struct{}

// isLeader returns whether the reactor reacts to events.
//
// CLI Example:
//
//	salt-run reactor.is_leader
func (m *module) isLeader(ctx context.Context, _ isLeaderArgs) (any, error) {
	return m.ask(ctx, "is_leader", data.NewMap(), "leader/value", "result")
}

type setLeaderArgs struct {
	Value any `default:"True"`
}

// setLeader makes the reactor handle or ignore events, and returns the new setting.
//
// CLI Example:
//
//	salt-run reactor.set_leader False
func (m *module) setLeader(ctx context.Context, a setLeaderArgs) (any, error) {
	return m.ask(ctx, "set_leader", data.NewMap("id", m.env.Option("id"), "value", a.Value),
		"leader/value", "result")
}
