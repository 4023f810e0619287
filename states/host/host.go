// Package host is Salt's state host: addresses and names in /etc/hosts (salt/states/host.py). The module hosts reads and writes them.
//
// What differs from Salt: whatever would change makes the result of test mode None; comments come in the order of the addresses.
package host

import (
	"context"
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

// listed returns the elements of a list; anything else counts as a list of itself.
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

// present gives addresses a name.
//
// ip
//
//	The address, or a list of them.
//
// comment
//
//	What stands behind the names.
//
// clean
//
//	True: no other address has the name.
//
//	web1:
//	  host.present:
//	    - ip: 192.0.2.1
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	v, err := m.env.Call(ctx, "hosts.list_hosts", nil, nil)
	hosts, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, err
	}
	r := &report{m: m, result: true, changes: &data.Map{}}
	p := a.plan(hosts, r)
	for _, step := range p {
		if err := r.take(ctx, step); err != nil {
			return nil, err
		}
	}
	ret := change.New(a.Name, r.result, r.changes, strings.Join(r.comments, "\n"))
	if r.warnings != nil {
		ret.Set("warnings", r.warnings)
	}
	return ret, nil
}

// A step is one change of the file: what it does, and what is said of that.
type step struct {
	fun, addr, word     string
	key                 string // of the changes
	would, done, failed string
}

func (a presentArgs) add(addr string) step {
	what := fmt.Sprintf("host %s (%s)", a.Name, addr)
	return step{"hosts.add_host", addr, a.Name, "added", fmt.Sprintf("Host %s (%s) would be added", a.Name, addr), "Added " + what, "Failed to add " + what}
}

func (a presentArgs) remark(addr string) step {
	text := data.Str(a.Comment)
	what := fmt.Sprintf("%s (%s)", addr, text)
	return step{"hosts.set_comment", addr, text, "comment_added", "Comment for " + what + " would be added", "Set comment for host " + what, "Failed to add comment for host " + what}
}

func (a presentArgs) remove(addr string) step {
	what := fmt.Sprintf("host %s (%s)", a.Name, addr)
	return step{"hosts.rm_host", addr, a.Name, "removed", fmt.Sprintf("Host %s (%s) would be removed", a.Name, addr), "Removed " + what, "Failed to remove " + what}
}

// plan returns what is to change, names first, then comments, then names that go.
func (a presentArgs) plan(hosts *data.Map, r *report) []step {
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
			r.warnings = append(r.warnings, fmt.Sprintf("Host %[1]s present for IP address %[2]s. To get rid of this warning, either run this state with 'clean' "+
				"set to True to remove %[1]s from %[2]s, or add %[2]s to the 'ip' argument.", a.Name, addr))
		case !among:
		case named && !other:
			r.comments = append(r.comments, fmt.Sprintf("Host %s (%s) already present", a.Name, addr))
		case named:
			remarks = append(remarks, a.remark(addr))
		case !valid(addr):
			r.result = false
			r.comments = append(r.comments, fmt.Sprintf("Invalid IP Address for %s (%s)", a.Name, addr))
		default:
			adds = append(adds, a.add(addr))
			if other {
				remarks = append(remarks, a.remark(addr))
			}
		}
	}
	return slices.Concat(adds, remarks, removals)
}

func valid(addr string) bool {
	_, err := netip.ParseAddr(addr)
	return err == nil
}

// A report is the result of a state as it grows.
type report struct {
	m        *module
	result   any
	changes  *data.Map
	comments []string
	warnings []any
}

// take makes one change, or says what it would.
func (r *report) take(ctx context.Context, s step) error {
	switch {
	case change.Test(ctx):
		if r.result == true {
			r.result = nil
		}
		r.comments = append(r.comments, s.would)
	default:
		done, err := r.m.env.Call(ctx, s.fun, []any{s.addr, s.word}, nil)
		if err != nil {
			return err
		}
		if done != true {
			r.result = false
			r.comments = append(r.comments, s.failed)
			return nil
		}
		r.comments = append(r.comments, s.done)
	}
	by, ok := r.changes.Value(s.key).(*data.Map)
	if !ok {
		by = &data.Map{}
		r.changes.Set(s.key, by)
	}
	list, _ := by.Value(s.addr).([]any)
	by.Set(s.addr, append(list, s.word))
	return nil
}

type absentArgs struct {
	Name string
	IP   any
}

// absent takes a name from addresses.
//
// ip
//
//	The address, or a list of them.
//
//	web1:
//	  host.absent:
//	    - ip: 192.0.2.1
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	var comments []string
	var result any = true
	changes := &data.Map{}
	for _, ip := range listed(a.IP) {
		has, err := m.env.Call(ctx, "hosts.has_pair", []any{ip, a.Name}, nil)
		switch {
		case err != nil:
			return nil, err
		case has != true:
			comments = append(comments, fmt.Sprintf("Host %s (%s) already absent", a.Name, data.Str(ip)))
			continue
		case change.Test(ctx):
			comments, result = append(comments, fmt.Sprintf("Host %s (%s) needs to be removed", a.Name, data.Str(ip))), nil
			continue
		}
		done, err := m.env.Call(ctx, "hosts.rm_host", []any{ip, a.Name}, nil)
		if err != nil {
			return nil, err
		}
		if done != true {
			comments, result = append(comments, "Failed to remove host"), false
			continue
		}
		changes.Set("host", a.Name)
		comments = append(comments, fmt.Sprintf("Removed host %s (%s)", a.Name, data.Str(ip)))
	}
	return change.New(a.Name, result, changes, strings.Join(comments, "\n")), nil
}

type onlyArgs struct {
	Name      string
	Hostnames any
}

// only makes names the only ones of an address, in their order; without any, the address goes.
//
// hostnames
//
//	The name, or a list of them.
//
//	127.0.1.1:
//	  host.only:
//	    - hostnames:
//	      - web1.example.com
//	      - web1
func (m *module) only(ctx context.Context, a onlyArgs) (any, error) {
	v, err := m.env.Call(ctx, "hosts.get_alias", []any{a.Name}, nil)
	if err != nil {
		return nil, err
	}
	before, wanted := joined(v), joined(a.Hostnames)
	switch {
	case before == wanted:
		return change.Done(a.Name, fmt.Sprintf("IP address %s already set to \"%s\"", a.Name, wanted)), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, fmt.Sprintf("Would change %s from \"%s\" to \"%s\"", a.Name, before, wanted)), nil
	}
	done, err := m.env.Call(ctx, "hosts.set_host", []any{a.Name, wanted}, nil)
	switch {
	case err != nil:
		return nil, err
	case done != true:
		return change.Failed(a.Name, fmt.Sprintf("hosts.set_host failed to change %s from \"%s\" to \"%s\"", a.Name, before, wanted)), nil
	}
	changes := data.NewMap(a.Name, change.OldNew(before, wanted))
	return change.New(a.Name, true, changes, fmt.Sprintf("successfully changed %s from \"%s\" to \"%s\"", a.Name, before, wanted)), nil
}

func joined(v any) string {
	var names []string
	for _, name := range listed(v) {
		names = append(names, strings.TrimSpace(data.Str(name)))
	}
	return strings.Join(names, " ")
}
