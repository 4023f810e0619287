package grains

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type listArgs struct {
	Name      any
	Value     any
	Delimiter any `default:"':'"`
}

// listPresent adds a value, or all values of a list, to a grain that is a list.
//
// delimiter
//
//	The delimiter between keys in the name. Default: a colon.
//
//	roles:
//	  grains.list_present:
//	    - value: web
func (m *module) listPresent(ctx context.Context, a listArgs) (change.Result, error) {
	name, value := colons(a.Name, a.Delimiter), data.Str(a.Value)
	var grains *data.Map // result of grains.append
	return change.Thing[grain]{
		Name: name,
		Look: func(ctx context.Context) (grain, error) { return m.listed(ctx, name) },
		Wants: func(now grain) *data.Map {
			missing := lacking(now.list(), a.Value)
			made := len(now.list()) > 0 || grains != nil // an empty list may be desired
			return change.When(missing != nil || !made, data.NewMap("new", shownList(now.value)))
		},
		Apply: func(ctx context.Context, now grain) (err error) {
			missing := lacking(now.list(), a.Value)
			if missing == nil { // an empty list
				missing = a.Value
			}
			all, err := change.Ask[any](ctx, m.env, "grains.append", []any{name, missing}, nil)
			grains = data.NewMap("new", data.Clone(all))
			return err
		},
		Changed: func(_, after grain) *data.Map {
			return change.When(lacking(after.list(), a.Value) == nil, grains)
		},
		Texts: change.Texts{
			Same:   "Value " + value + " is already in grain " + name,
			Would:  "Value " + value + " is set to be appended to grain " + name,
			Done:   "Append value " + value + " to grain " + name,
			Failed: "Failed append value " + value + " to grain " + name,
		},
		Say: func(o change.Outcome[grain]) any {
			if o.Stage == change.StageWould && len(o.Before.list()) == 0 {
				return "Grain " + name + " is set to be added"
			}
			return nil
		},
	}.Ensure(ctx)
}

// listed reads a grain that must be a list, empty or missing.
func (m *module) listed(ctx context.Context, name string) (grain, error) {
	now, err := m.grain(ctx, name)
	if err == nil && data.Truth(now.value) && !now.isList() {
		err = errors.New("Grain " + name + " is not a valid list")
	}
	return now, err
}

// shownList returns a grain for display in test mode. A missing grain is an empty string.
func shownList(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// lacking returns what to add to a list, or nil.
func lacking(list []any, wanted any) any {
	values, ok := wanted.([]any)
	if !ok {
		if has(list, wanted) {
			return nil
		}
		return wanted
	}
	var missing []any
	for _, v := range values {
		if !has(list, v) {
			missing = append(missing, v)
		}
	}
	if missing == nil {
		return nil
	}
	return missing
}

// listAbsent removes a value, or all values of a list, from a grain that is a list.
//
// delimiter
//
//	The delimiter between keys in the name. Default: a colon.
//
//	roles:
//	  grains.list_absent:
//	    - value: db
func (m *module) listAbsent(ctx context.Context, a listArgs) (change.Result, error) {
	name := colons(a.Name, a.Delimiter)
	values, ok := a.Value.([]any)
	if !ok {
		values = []any{a.Value}
	}
	// in returns the values of one grain that are not in the other.
	in := func(one, other grain) *data.Map {
		var found []any
		for _, v := range values {
			if has(one.list(), v) && !has(other.list(), v) {
				found = append(found, v)
			}
		}
		return change.When(found != nil, data.NewMap("deleted", found))
	}
	return change.Thing[grain]{
		Name:  name,
		Look:  func(ctx context.Context) (grain, error) { return m.listed(ctx, name) },
		Wants: func(now grain) *data.Map { return in(now, grain{}) },
		Apply: func(ctx context.Context, now grain) error {
			for _, v := range values {
				if !has(now.list(), v) {
					continue
				}
				if err := change.Do(ctx, m.env, "grains.remove", []any{name, v}, nil); err != nil {
					return err
				}
			}
			return nil
		},
		Changed: in,
		Say: func(o change.Outcome[grain]) any {
			switch {
			case o.Stage == change.StageFailed:
				return nil
			case !data.Truth(o.Before.value):
				return "Grain " + name + " does not exist"
			}
			var comments []string
			for _, v := range values {
				value := "Value " + data.Str(v)
				switch {
				case !has(o.Before.list(), v):
					value += " is absent from grain " + name
				case o.Stage == change.StageWould:
					value += " in grain " + name + " is set to be deleted"
				default:
					value += " was deleted from grain " + name
				}
				comments = append(comments, value)
			}
			return strings.Join(comments, "\n")
		},
	}.Ensure(ctx)
}

type appendArgs struct {
	Name      any
	Value     any
	Convert   any `default:"False"`
	Delimiter any `default:"':'"`
}

// append adds a value to an existing grain that is a list.
//
// convert
//
//	True: convert a grain that is not a list.
//
// delimiter
//
//	The delimiter between keys in the name. Default: a colon.
//
//	roles:
//	  grains.append:
//	    - value: web
func (m *module) append(ctx context.Context, a appendArgs) (change.Result, error) {
	name, value := colons(a.Name, a.Delimiter), data.Str(a.Value)
	return change.Thing[grain]{
		Name: name,
		Look: func(ctx context.Context) (grain, error) {
			now, err := m.grain(ctx, name)
			switch {
			case err != nil:
			case !now.there:
				err = errors.New("Grain " + name + " does not exist")
			case !now.isList() && a.Convert != true:
				err = errors.New("Grain " + name + " is not a valid list")
			}
			return now, err
		},
		Wants: func(now grain) *data.Map {
			return change.When(!has(now.list(), a.Value), data.NewMap("added", a.Value))
		},
		Apply: func(ctx context.Context, now grain) error {
			if now.isList() {
				return change.Do(ctx, m.env, "grains.append", []any{name, a.Value}, nil)
			}
			return change.Do(ctx, m.env, "grains.setval",
				[]any{name, converted(now.value, a.Value)}, nil)
		},
		Texts: change.Texts{
			Same:  "Value " + value + " is already in the list for grain " + name,
			Would: "Value " + value + " in grain " + name + " is set to be added",
			Done:  "Value " + value + " was added to grain " + name,
		},
		Say: func(o change.Outcome[grain]) any {
			if o.Stage == change.StageWould && !o.Before.isList() {
				return "Grain " + name + " is set to be converted to list and value " + value +
					" will be added"
			}
			return nil
		},
		Trust: true, // to grains.setval a name with colons is a single key, as in Salt
	}.Ensure(ctx)
}

func converted(now, v any) []any {
	if now == nil {
		return []any{v}
	}
	return []any{now, v}
}
