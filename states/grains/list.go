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

// listPresent has a grain be a list with a value in it, or with all values of a list.
//
// delimiter
//
//	Separates keys in the name in place of the colon.
//
//	roles:
//	  grains.list_present:
//	    - value: web
func (m *module) listPresent(ctx context.Context, a listArgs) (change.Result, error) {
	name, value := colons(a.Name, a.Delimiter), data.Str(a.Value)
	var grains *data.Map // as grains.append returns them
	return change.Thing[grain]{
		Name: name,
		Look: func(ctx context.Context) (grain, error) { return m.listed(ctx, name) },
		Wants: func(now grain) *data.Map {
			missing := lacking(now.list(), a.Value)
			made := len(now.list()) > 0 || grains != nil // an empty list may be wanted
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

// listed reads a grain that is a list, empty or not there.
func (m *module) listed(ctx context.Context, name string) (grain, error) {
	now, err := m.grain(ctx, name)
	if err == nil && data.Truth(now.value) && !now.isList() {
		err = errors.New("Grain " + name + " is not a valid list")
	}
	return now, err
}

// shownList is what test mode shows of a grain; one that is not there is an empty text.
func shownList(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// lacking returns what is to be added to a list, nil when nothing is.
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

// listAbsent takes a value, or all values of a list, out of a grain that is a list.
//
// delimiter
//
//	Separates keys in the name in place of the colon.
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
	// in returns the values that are in one grain and not in the other.
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

// append adds a value to a grain that is there and is a list.
//
// convert
//
//	True: a grain that is no list becomes one.
//
// delimiter
//
//	Separates keys in the name in place of the colon.
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
			return change.Do(ctx, m.env, "grains.setval", []any{name, converted(now.value, a.Value)}, nil)
		},
		Texts: change.Texts{
			Same:  "Value " + value + " is already in the list for grain " + name,
			Would: "Value " + value + " in grain " + name + " is set to be added",
			Done:  "Value " + value + " was added to grain " + name,
		},
		Say: func(o change.Outcome[grain]) any {
			if o.Stage == change.StageWould && !o.Before.isList() {
				return "Grain " + name + " is set to be converted to list and value " + value + " will be added"
			}
			return nil
		},
		Trust: true, // a name with colons is one key to grains.setval, as in Salt
	}.Ensure(ctx)
}

func converted(now, v any) []any {
	if now == nil {
		return []any{v}
	}
	return []any{now, v}
}
