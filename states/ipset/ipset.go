// Package ipset is Salt's state ipset: sets of addresses for packet filters, and their entries
// (salt/states/ipset.py). It uses the module ipset.
//
// Differences from Salt: an entry with a comment or a timeout is not added again; an empty set is not
// flushed; ipset.absent deletes the addresses and ports of a range that are there, whatever their
// comments and timeouts are; ipset.set_absent leaves a set that is in use as it is, and Salt empties it.
// After a change, each state looks again.
package ipset

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/ipsets"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state ipset. It is available on hosts with the module ipset.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ipset", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("ipset.version") {
		return nil, errors.New("ipset module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("flush", m.flush),
		loader.F("present", m.present),
		loader.F("set_absent", m.setAbsent),
		loader.F("set_present", m.setPresent),
	}}, nil
}

// act calls a function that returns True, or the reason why not.
func (m *module) act(ctx context.Context, fun string, args []any, kwargs *data.Map) error {
	v, err := change.Ask[any](ctx, m.env, "ipset."+fun, args, kwargs)
	if err != nil || v == true {
		return err
	}
	return change.Reason(strings.TrimSpace(data.Str(v)))
}

// exists reports whether a set exists.
func (m *module) exists(ctx context.Context, name string) (bool, error) {
	v, err := change.Ask[any](ctx, m.env, "ipset.check_set", []any{name}, nil)
	return v == true, err
}

type setArgs struct {
	Name    string
	SetType any       `name:"set_type"`
	Family  any       `default:"'ipv4'"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// setPresent keeps a set. Further arguments are those of ipset.new_set; a set that exists is left as
// it is.
//
//	setname:
//	  ipset.set_present:
//	    - set_type: bitmap:ip
//	    - range: 192.168.0.0/16
//	    - comment: True
func (m *module) setPresent(ctx context.Context, a setArgs) (change.Result, error) {
	family := data.Str(a.Family)
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (bool, error) { return m.exists(ctx, a.Name) },
		Wants: func(there bool) *data.Map { return change.When(!there, data.NewMap("locale", a.Name)) },
		Apply: func(ctx context.Context, _ bool) error {
			return m.act(ctx, "new_set", []any{a.Name, a.SetType, a.Family}, a.Kwargs)
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "ipset set " + a.Name + " already exists for " + family,
			Would: "ipset set " + a.Name + " would be added for " + family,
			Done:  "ipset set " + a.Name + " created successfully for " + family,
		},
		Say: func(o change.Outcome[bool]) any {
			if o.Stage == change.StageFailed && o.Err != nil {
				return "Failed to create set " + a.Name + " for " + family + ": " + o.Err.Error()
			}
			return nil
		},
	}.Ensure(ctx)
}

type familyArgs struct {
	Name   string
	Family any       `default:"'ipv4'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// setAbsent keeps a set destroyed. Further arguments have no effect.
//
//	setname:
//	  ipset.set_absent
func (m *module) setAbsent(ctx context.Context, a familyArgs) (change.Result, error) {
	family := data.Str(a.Family)
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (bool, error) { return m.exists(ctx, a.Name) },
		Wants: func(there bool) *data.Map { return change.When(there, data.NewMap("locale", a.Name)) },
		Apply: func(ctx context.Context, _ bool) error {
			return m.act(ctx, "delete_set", []any{a.Name, a.Family}, nil)
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "ipset set " + a.Name + " for " + family + " is already absent",
			Would: "ipset set " + a.Name + " for " + family + " would be removed",
			Done:  "ipset set " + a.Name + " deleted successfully for family " + family,
		},
		Say: func(o change.Outcome[bool]) any {
			if o.Stage == change.StageFailed && o.Err != nil {
				return "Failed to delete set " + a.Name + " for " + family + ": " + o.Err.Error()
			}
			return nil
		},
	}.Ensure(ctx)
}

type entryArgs struct {
	Name    string
	Entry   any       `default:"None"`
	Entries any       `default:"None"`
	Family  any       `default:"'ipv4'"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// An entry is an entry of a set.
type entry struct {
	itself string // without options
	whole  string // with those of texts
	all    string // with all
}

// entries returns the wanted entries, each with the options of all.
func (a entryArgs) entries() []entry {
	list := []string{data.Str(a.Entry)}
	if _, ok := a.Entry.([]any); ok {
		list = data.TextsOf(a.Entry)
	}
	var all []entry
	for _, text := range list {
		itself, options, _ := strings.Cut(text, " ")
		if timeout, ok := a.Kwargs.Get("timeout"); ok && !strings.Contains(options, "timeout") {
			options = "timeout " + data.Str(timeout) + " " + options
		}
		if comment, ok := a.Kwargs.Get("comment"); ok && !strings.Contains(options, "comment") {
			options += " comment " + data.Str(comment)
		}
		whole := strings.TrimSpace(itself + " " + strings.TrimLeft(options, " "))
		more := ""
		for _, option := range []string{"skbmark", "skbprio", "skbqueue", "nomatch"} {
			v, ok := a.Kwargs.Get(option)
			switch {
			case !ok, slices.Contains(strings.Fields(options), option), option == "nomatch" && !data.Truth(v):
			case option == "nomatch":
				more += " nomatch"
			default:
				more += " " + option + " " + data.Str(v)
			}
		}
		all = append(all, entry{itself, whole, itself + more + strings.TrimPrefix(whole, itself)})
	}
	return all
}

// each keeps the entries one by one. Their comments follow each other; that of a failure replaces
// those before it.
func (m *module) each(ctx context.Context, a entryArgs, thing func(entry) change.Thing[bool]) (change.Result,
	error) {
	switch {
	case !data.Truth(a.Entry):
		return change.Refuse(a.Name, "ipset entry must be specified")
	case !a.Kwargs.Has("set_name"):
		return change.Refuse(a.Name, "set_name must be specified")
	}
	parts, comment := []change.Result{}, ""
	for _, e := range a.entries() {
		part, err := thing(e).Ensure(ctx)
		if err != nil {
			return change.Result{}, err
		}
		if part.Failed() {
			comment = ""
		}
		comment += data.Str(part.Comment)
		parts = append(parts, part)
	}
	all := change.Join(a.Name, parts...)
	all.Comment = comment
	return all, nil
}

// holds reports whether the set has an entry.
func (m *module) holds(ctx context.Context, a entryArgs, text string) (bool, error) {
	v, err := change.Ask[any](ctx, m.env, "ipset.check", []any{a.Kwargs.Value("set_name"), text, a.Family},
		nil)
	return v == true, err
}

// change calls a function on an entry, whose result has the word Error if it fails.
func (m *module) change(ctx context.Context, fun string, a entryArgs, text string) error {
	kwargs := a.Kwargs.Clone()
	kwargs.Delete("set_name")
	v, err := change.Ask[any](ctx, m.env, "ipset."+fun, []any{a.Kwargs.Value("set_name"), text, a.Family},
		kwargs)
	if err == nil && strings.Contains(data.Str(v), "Error") {
		err = change.Reason(data.Str(v))
	}
	return err
}

// present keeps entries in a set.
//
// set_name
//
//	The set.
//
// entry
//
//	An entry, or a list of entries.
//
// Further arguments are options of ipset.add, such as comment and timeout.
//
//	setname_entries:
//	  ipset.present:
//	    - set_name: setname
//	    - entry:
//	      - 192.168.0.3
//	      - 192.168.1.3
//	    - comment: Hello
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	all := entryArgs{Name: a.Name, Entry: a.Entry, Family: a.Family, Kwargs: a.Kwargs}
	set, family := a.Kwargs.Text("set_name"), data.Str(a.Family)
	return m.each(ctx, all, func(e entry) change.Thing[bool] {
		return change.Thing[bool]{
			Look:  func(ctx context.Context) (bool, error) { return m.holds(ctx, all, e.all) },
			Wants: func(there bool) *data.Map { return change.When(!there, data.NewMap("locale", a.Name)) },
			Apply: func(ctx context.Context, _ bool) error {
				return m.change(ctx, "add", all, e.whole)
			},
			Silent: true,
			Texts: change.Texts{
				Same: "entry for " + e.itself + " already in set " + set + " for " + family + "\n",
				Would: "entry " + e.itself + " would be added to set " + set + " for family " + family +
					"\n",
				Done: "entry " + e.whole + " added to set " + set + " for family " + family + "\n",
				Failed: "entry " + e.whole + " is still missing in set " + set + " for family " + family +
					"\n",
			},
			Say: func(o change.Outcome[bool]) any {
				if o.Stage == change.StageFailed && o.Err != nil {
					return "Failed to add to entry " + e.whole + " to set " + set + " for family " + family +
						".\n" +
						o.Err.Error()
				}
				return nil
			},
		}
	})
}

type presentArgs struct {
	Name   string
	Entry  any       `default:"None"`
	Family any       `default:"'ipv4'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// A place is where an entry is in a set.
type place struct {
	elements []string // its members, of a range as many as are there
	whole    bool     // they are all of them
	inside   bool     // it is in the network of a member that stays
}

// find looks for an entry in a set.
func (m *module) find(ctx context.Context, a entryArgs, e entry) (place, error) {
	set, err := ipsets.Read(ctx, m.env, a.Kwargs.Text("set_name"))
	if err != nil || set == nil {
		return place{}, change.Except(err, loader.KindExecution)
	}
	var at place
	at.elements, at.whole = set.Find(e.all)
	at.inside = len(at.elements) == 0 && set.Has(e.all)
	return at, nil
}

// absent keeps entries out of a set. Its arguments are those of ipset.present; entries has no
// effect. An address that is in the network of another entry fails the state.
//
//	setname_entries:
//	  ipset.absent:
//	    - set_name: setname
//	    - entry:
//	      - 192.168.0.3
//	      - 192.168.1.3
func (m *module) absent(ctx context.Context, a entryArgs) (change.Result, error) {
	set, family := a.Kwargs.Text("set_name"), data.Str(a.Family)
	return m.each(ctx, a, func(e entry) change.Thing[bool] {
		var at place
		return change.Thing[bool]{
			Look: func(ctx context.Context) (bool, error) {
				var err error
				at, err = m.find(ctx, a, e)
				return len(at.elements) > 0 || at.inside, err
			},
			Wants: func(there bool) *data.Map { return change.When(there, data.NewMap("locale", a.Name)) },
			Apply: func(ctx context.Context, _ bool) error {
				if at.whole || at.inside {
					return m.change(ctx, "delete", a, e.itself)
				}
				for _, element := range at.elements {
					if err := m.change(ctx, "delete", a, element); err != nil {
						return err
					}
				}
				return nil
			},
			Silent: true,
			Texts: change.Texts{
				Same: "ipset entry for " + e.whole + " not present in set " + set + " for " + family + "\n",
				Would: "ipset entry " + e.itself + " would be removed from set " + set + " for " + family +
					"\n",
				Done:   "ipset entry " + e.whole + " removed from set " + set + " for " + family + "\n",
				Failed: "ipset entry " + e.whole + " is still in set " + set + " for " + family + "\n",
			},
			Say: func(o change.Outcome[bool]) any {
				if o.Stage == change.StageFailed && o.Err != nil {
					return "Failed to delete ipset entry from set " + set + " for " + family +
						". Attempted entry was " + e.whole + ".\n" + o.Err.Error() + "\n"
				}
				return nil
			},
		}
	})
}

// flush keeps a set empty. Further arguments have no effect.
//
//	setname:
//	  ipset.flush
func (m *module) flush(ctx context.Context, a familyArgs) (change.Result, error) {
	family := data.Str(a.Family)
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (empty bool, err error) {
			sets, err := change.Ask[[]any](ctx, m.env, "ipset.list_sets", nil, nil)
			if err != nil {
				return false, err
			}
			for _, v := range sets {
				if set, ok := v.(*data.Map); ok && set.Text("Name") == a.Name {
					return set.Text("Number of entries") == "0", nil
				}
			}
			return false, change.Reason("ipset set " + a.Name + " does not exist for " + family)
		},
		Wants: func(empty bool) *data.Map { return change.When(!empty, data.NewMap("locale", a.Name)) },
		Apply: func(ctx context.Context, _ bool) error {
			ok, err := change.Ask[bool](ctx, m.env, "ipset.flush", []any{a.Name, a.Family}, nil)
			if err == nil && !ok {
				err = change.Reason("Failed to flush ipset entries from set " + a.Name + " for " + family)
			}
			return err
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "ipset set " + a.Name + " for " + family + " is already empty",
			Would: "ipset entries in set " + a.Name + " for " + family + " would be flushed",
			Done:  "Flushed ipset entries from set " + a.Name + " for " + family,
		},
	}.Ensure(ctx)
}
