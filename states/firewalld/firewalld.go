// Package firewalld is Salt's state firewalld: zones and services of the firewall firewalld
// (salt/states/firewalld.py). It uses the module firewalld.
//
// Differences from Salt: test mode creates no service and reloads nothing, and predicts the changes
// of a zone that does not exist. Values that are added without pruning follow those that are there. A
// new service without ports and protocols is reported as a change.
//
// A rule or a port that firewalld reports in another form, or as part of a range, counts as present
// and is not pruned, whereas Salt adds or removes it in every second run.
package firewalld

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state firewalld. It loads only on hosts with the program firewall-cmd.
func Plugin() loader.Plugin { return loader.Plugin{Name: "firewalld", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("firewall-cmd") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("firewall-cmd is not available, firewalld is probably not installed.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("present", m.present),
		loader.F("service", m.service),
	}}, nil
}

// call calls a function of the module. An error of firewall-cmd becomes a reason, as in Salt.
func (m *module) call(ctx context.Context, fun string, args ...any) (any, error) {
	v, err := m.env.Call(ctx, "firewalld."+fun, args, nil)
	if err != nil && loader.KindOf(err) == loader.KindExecution {
		return nil, fmt.Errorf("Error: %w", err) //nolint:staticcheck // Salt's text
	}
	return v, change.Raise(err)
}

// list calls a function that returns a list.
func (m *module) list(ctx context.Context, fun string, args ...any) ([]any, error) {
	v, err := m.call(ctx, fun, args...)
	if err != nil {
		return nil, err
	}
	all, err := loader.ResultAs[[]any]("firewalld."+fun, v)
	return all, change.Raise(err)
}

// A part is a list of values that a zone or a service has.
type part struct {
	key      string // of the changes
	wanted   []any
	prune    bool // other values are removed
	covers   covers
	list     string
	add, del string
	args     func(v any) []any // arguments of add and del
	done     bool              // firewalld accepted all that is wanted
}

// without returns the values of a list that another does not cover.
func (p part) without(list, other []any) []any {
	left := []any{}
	for _, v := range list {
		if !p.covers(other, v) {
			left = append(left, v)
		}
	}
	return left
}

// desired returns what the list will be.
func (p part) desired(now []any) []any {
	if p.prune {
		return p.wanted
	}
	return slices.Concat(now, p.without(p.wanted, now))
}

// differs reports whether the list has to change. Once firewalld has accepted a value, the list has it
// in a form that is not known here if none is known.
func (p part) differs(now []any) bool {
	if len(p.without(p.wanted, now)) > 0 {
		return !p.done
	}
	return p.prune && len(p.without(now, p.wanted)) > 0
}

// bring adds and removes values.
func (m *module) bring(ctx context.Context, p *part, now []any, listArgs ...any) error {
	add := func(now []any) error {
		for _, v := range p.without(p.wanted, now) {
			if _, err := m.call(ctx, p.add, p.args(v)...); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(now); err != nil {
		return err
	}
	if others := p.without(now, p.wanted); p.prune && len(others) > 0 {
		for _, v := range others {
			if _, err := m.call(ctx, p.del, p.args(v)...); err != nil {
				return err
			}
		}
		// What was removed may have been wanted in another form, or a range with a wanted port.
		left, err := m.read(ctx, *p, listArgs...)
		if err != nil {
			return err
		}
		if err := add(left); err != nil {
			return err
		}
	}
	p.done = true
	return nil
}

// read returns the list of a zone or a service.
func (m *module) read(ctx context.Context, p part, args ...any) ([]any, error) {
	list, err := m.list(ctx, p.list, args...)
	if p.key == "port_fwd" {
		list = ordered(list)
	}
	return list, err
}

// moved reports whether a list has other values than before.
func moved(before, after []any) bool {
	exact := part{covers: holds}
	return len(exact.without(before, after))+len(exact.without(after, before)) > 0
}

type serviceArgs struct {
	Name      string
	Ports     []any `default:"None"`
	Protocols []any `default:"None"`
}

// service creates a service, and sets its ports and protocols in the permanent configuration.
//
// ports, protocols
//
//	Lists; others are removed.
//
//	my_service:
//	  firewalld.service:
//	    - ports:
//	      - 8080/tcp
func (m *module) service(ctx context.Context, a serviceArgs) (change.Result, error) {
	args := func(v any) []any { return []any{a.Name, v} }
	parts := []part{
		{key: "ports", wanted: a.Ports, prune: true, covers: holdsPort, list: "get_service_ports",
			add: "add_service_port", del: "remove_service_port", args: args},
		{key: "protocols", wanted: a.Protocols, prune: true, covers: holds,
			list: "get_service_protocols", add: "add_service_protocol", del: "remove_service_protocol",
			args: args},
	}
	type state struct {
		there bool
		lists [][]any
	}
	return change.Thing[state]{
		Name: a.Name,
		Look: func(ctx context.Context) (state, error) {
			names, err := m.list(ctx, "get_services")
			s := state{slices.Contains(names, any(a.Name)), make([][]any, len(parts))}
			for i, p := range parts {
				if s.lists[i] = []any{}; err == nil && s.there {
					s.lists[i], err = m.read(ctx, p, a.Name)
				}
			}
			return s, err
		},
		Wants: func(s state) *data.Map {
			changes := data.NewMap()
			for i, p := range parts {
				if p.differs(s.lists[i]) {
					changes.Set(p.key, change.OldNew(s.lists[i], slices.Concat([]any{}, p.wanted)))
				}
			}
			if !s.there && changes.Len() == 0 {
				changes.Set("service", change.OldNew("", a.Name))
			}
			return changes
		},
		Apply: func(ctx context.Context, s state) error {
			var err error
			if !s.there {
				_, err = m.call(ctx, "new_service", a.Name, false)
			}
			for i := range parts {
				if err == nil {
					err = m.bring(ctx, &parts[i], s.lists[i], a.Name)
				}
			}
			return m.reload(ctx, err)
		},
		Texts: change.Texts{
			Same:  "'" + a.Name + "' is already in the desired state.",
			Would: "Configuration for '" + a.Name + "' will change.",
			Done:  "'" + a.Name + "' was configured.",
		},
	}.Ensure(ctx)
}

// reload makes the permanent configuration the current one, also after an error, which it returns.
func (m *module) reload(ctx context.Context, failed error) error {
	_, err := m.call(ctx, "reload_rules")
	return cmp.Or(failed, err)
}
