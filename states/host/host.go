// Package host is Salt's state host: addresses and names in /etc/hosts (salt/states/host.py). The
// module hosts reads and writes them.
//
// Differences from Salt: in test mode the result is None for any change. Comments are in the order
// of the addresses.
package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state host.
func Plugin() loader.Plugin { return loader.Plugin{Name: "host", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("only", m.only),
		loader.F("present", m.present),
	}}, nil
}

// listed returns the elements of a list. Anything else becomes a list of one element.
func listed(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

type presentArgs struct {
	Name    string
	IP      any
	Comment any `default:"''"`
	Clean   any `default:"False"`
}

// present adds a name to addresses.
//
// ip
//
//	The address, or a list of addresses.
//
// comment
//
//	The comment after the names.
//
// clean
//
//	True: remove the name from all other addresses.
//
//	web1:
//	  host.present:
//	    - ip: 192.0.2.1
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	var p *plan
	ret, err := change.Thing[*plan]{
		Name: a.Name,
		Look: func(ctx context.Context) (*plan, error) {
			hosts, err := change.Ask[*data.Map](ctx, m.env, "hosts.list_hosts", nil, nil)
			p = a.plan(hosts)
			return p, err
		},
		Wants: func(now *plan) *data.Map { return changes(now.steps) },
		Apply: func(ctx context.Context, now *plan) error {
			for _, s := range now.steps {
				done, err := change.Ask[bool](ctx, m.env, s.fun, []any{s.addr, s.word}, nil)
				if err != nil {
					return err
				}
				if !done {
					now.failed = append(now.failed, s)
				}
			}
			if now.failed != nil {
				return errors.New("not all changes were made")
			}
			return nil
		},
		Changed: func(_, now *plan) *data.Map {
			return changes(slices.DeleteFunc(slices.Clone(now.steps), now.failedAt))
		},
		Say: func(o change.Outcome[*plan]) any {
			comments := slices.Clone(o.Before.comments)
			for _, s := range o.Before.steps {
				comments = append(comments, s.text(o))
			}
			return strings.Join(comments, "\n")
		},
		Trust: true, // a name with spaces, or a comment surrounded by spaces, is read differently
	}.Ensure(ctx)
	if err != nil {
		return ret, err
	}
	if p.invalid {
		ret.Verdict = change.Failure
	}
	if p.warnings != nil {
		ret.More = data.NewMap("warnings", p.warnings)
	}
	return ret, nil
}

// A step is one change to the file with its comment.
type step struct {
	fun, addr, word     string
	key                 string // key in the changes
	would, done, failed string
}

func (s step) text(o change.Outcome[*plan]) string {
	switch {
	case o.Stage == change.StageWould:
		return s.would
	case o.Before.failedAt(s):
		return s.failed
	}
	return s.done
}

// changes returns the changes of steps.
func changes(steps []step) *data.Map {
	changes := &data.Map{}
	for _, s := range steps {
		by, ok := changes.Value(s.key).(*data.Map)
		if !ok {
			by = &data.Map{}
			changes.Set(s.key, by)
		}
		list, _ := by.Value(s.addr).([]any)
		by.Set(s.addr, append(list, s.word))
	}
	return changes
}

func (a presentArgs) add(addr string) step {
	what := fmt.Sprintf("host %s (%s)", a.Name, addr)
	would := fmt.Sprintf("Host %s (%s) would be added", a.Name, addr)
	return step{"hosts.add_host", addr, a.Name, "added",
		would, "Added " + what, "Failed to add " + what}
}

func (a presentArgs) remark(addr string) step {
	text := data.Str(a.Comment)
	what := fmt.Sprintf("%s (%s)", addr, text)
	return step{"hosts.set_comment", addr, text, "comment_added",
		"Comment for " + what + " would be added", "Set comment for host " + what,
		"Failed to add comment for host " + what}
}

func (a presentArgs) remove(addr string) step {
	what := fmt.Sprintf("host %s (%s)", a.Name, addr)
	would := fmt.Sprintf("Host %s (%s) would be removed", a.Name, addr)
	return step{"hosts.rm_host", addr, a.Name, "removed",
		would, "Removed " + what, "Failed to remove " + what}
}

// A plan holds what a state found in the file, and the changes to make.
type plan struct {
	steps    []step
	failed   []step
	comments []string // for entries that are as desired, or that cannot be
	warnings []any
	invalid  bool // an address is invalid
}

func (p *plan) failedAt(s step) bool { return slices.Contains(p.failed, s) }

// plan returns the changes: first names, then comments, then names to remove.
func (a presentArgs) plan(hosts *data.Map) *plan {
	p := &plan{}
	var adds, remarks, removals []step
	wanted := listed(a.IP)
	for _, addr := range wanted {
		if addr := data.Str(addr); !hosts.Has(addr) {
			adds = append(adds, a.add(addr))
			if data.Truth(a.Comment) {
				remarks = append(remarks, a.remark(addr))
			}
		}
	}
	for key, v := range hosts.All() {
		addr := data.Str(key)
		about, _ := v.(*data.Map)
		names, _ := about.Value("aliases").([]any)
		named := slices.Contains(names, any(a.Name))
		other := data.Truth(a.Comment) && about.Value("comment") != a.Comment
		switch among := slices.Contains(wanted, key); {
		case !among && named && data.Truth(a.Clean):
			removals = append(removals, a.remove(addr))
		case !among && named:
			p.warnings = append(p.warnings, fmt.Sprintf("Host %[1]s present for IP address %[2]s. "+
				"To get rid of this warning, either run this state with 'clean' set to True to remove "+
				"%[1]s from %[2]s, or add %[2]s to the 'ip' argument.", a.Name, addr))
		case !among:
		case named && !other:
			p.comments = append(p.comments,
				fmt.Sprintf("Host %s (%s) already present", a.Name, addr))
		case named:
			remarks = append(remarks, a.remark(addr))
		case !valid(addr):
			p.invalid = true
			p.comments = append(p.comments,
				fmt.Sprintf("Invalid IP Address for %s (%s)", a.Name, addr))
		default:
			adds = append(adds, a.add(addr))
			if other {
				remarks = append(remarks, a.remark(addr))
			}
		}
	}
	p.steps = slices.Concat(adds, remarks, removals)
	return p
}

func valid(addr string) bool {
	_, err := netip.ParseAddr(addr)
	return err == nil
}

type absentArgs struct {
	Name string
	IP   any
}

// absent removes a name from addresses.
//
// ip
//
//	The address, or a list of addresses.
//
//	web1:
//	  host.absent:
//	    - ip: 192.0.2.1
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	var parts []change.Result
	for _, ip := range listed(a.IP) {
		pair, what := []any{ip, a.Name}, fmt.Sprintf("%s (%s)", a.Name, data.Str(ip))
		part, err := change.Thing[bool]{
			Look: func(ctx context.Context) (bool, error) {
				return change.Ask[bool](ctx, m.env, "hosts.has_pair", pair, nil)
			},
			Wants: func(has bool) *data.Map { return change.When(has, data.NewMap("host", a.Name)) },
			Apply: func(ctx context.Context, _ bool) error {
				return change.Do(ctx, m.env, "hosts.rm_host", pair, nil)
			},
			Texts: change.Texts{
				Same:   "Host " + what + " already absent",
				Would:  "Host " + what + " needs to be removed",
				Done:   "Removed host " + what,
				Failed: "Failed to remove host",
			},
			Silent: true,
		}.Ensure(ctx)
		if err != nil {
			return part, err
		}
		parts = append(parts, part)
	}
	return change.Join(a.Name, parts...), nil
}

type onlyArgs struct {
	Name      string
	Hostnames any
}

// only sets the names of an address, in this order. Without names the address is removed.
//
// hostnames
//
//	The name, or a list of names.
//
//	127.0.1.1:
//	  host.only:
//	    - hostnames:
//	      - web1.example.com
//	      - web1
func (m *module) only(ctx context.Context, a onlyArgs) (change.Result, error) {
	wanted := joined(a.Hostnames)
	return change.Thing[string]{
		Name: a.Name,
		Look: func(ctx context.Context) (string, error) {
			names, err := change.Ask[any](ctx, m.env, "hosts.get_alias", []any{a.Name}, nil)
			return joined(names), err
		},
		Wants: func(now string) *data.Map {
			return change.When(now != wanted, data.NewMap(a.Name, change.OldNew(now, wanted)))
		},
		Apply: func(ctx context.Context, _ string) error {
			done, err := change.Ask[bool](ctx, m.env, "hosts.set_host", []any{a.Name, wanted}, nil)
			if err == nil && !done {
				err = errors.New("hosts.set_host returned False")
			}
			return err
		},
		Say: func(o change.Outcome[string]) any {
			turn := fmt.Sprintf(" %s from \"%s\" to \"%s\"", a.Name, o.Before, wanted)
			switch o.Stage {
			case change.StageSame:
				return fmt.Sprintf("IP address %s already set to \"%s\"", a.Name, wanted)
			case change.StageWould:
				return "Would change" + turn
			case change.StageDone:
				return "successfully changed" + turn
			}
			return "hosts.set_host failed to change" + turn
		},
		Silent: true,
		Trust:  true,
	}.Ensure(ctx)
}

func joined(v any) string {
	names := data.Texts(listed(v))
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return strings.Join(names, " ")
}
