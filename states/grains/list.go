package grains

import (
	"context"
	"fmt"
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
func (m *module) listPresent(ctx context.Context, a listArgs) (any, error) {
	name := colons(a.Name, a.Delimiter)
	now, _, err := m.grain(ctx, name)
	if err != nil {
		return nil, err
	}
	list, isList := now.([]any)
	if data.Truth(now) && !isList {
		return change.Failed(name, fmt.Sprintf("Grain %s is not a valid list", name)), nil
	}
	missing := lacking(list, a.Value)
	switch shown := shownList(now); {
	case missing == nil && len(list) > 0:
		return change.Done(name, fmt.Sprintf("Value %s is already in grain %s", data.Str(a.Value), name)), nil
	case change.Test(ctx) && len(list) > 0:
		return change.Would(name, data.NewMap("new", shown), fmt.Sprintf("Value %s is set to be appended to grain %s", data.Str(a.Value), name)), nil
	case change.Test(ctx):
		return change.Would(name, data.NewMap("new", shown), fmt.Sprintf("Grain %s is set to be added", name)), nil
	}
	return m.add(ctx, name, a.Value, missing)
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

// add adds what is missing and looks whether it is there then.
func (m *module) add(ctx context.Context, name string, wanted, missing any) (any, error) {
	if missing == nil { // an empty list
		missing = wanted
	}
	grains, err := m.env.Call(ctx, "grains.append", []any{name, missing}, nil)
	if err != nil {
		return nil, err
	}
	now, _, err := m.grain(ctx, name)
	if err != nil {
		return nil, err
	}
	if list, _ := now.([]any); lacking(list, wanted) != nil {
		return change.Failed(name, fmt.Sprintf("Failed append value %s to grain %s", data.Str(wanted), name)), nil
	}
	return change.New(name, true, data.NewMap("new", data.Clone(grains)), fmt.Sprintf("Append value %s to grain %s", data.Str(wanted), name)), nil
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
func (m *module) listAbsent(ctx context.Context, a listArgs) (any, error) {
	name := colons(a.Name, a.Delimiter)
	now, _, err := m.grain(ctx, name)
	if err != nil {
		return nil, err
	}
	list, isList := now.([]any)
	switch {
	case !data.Truth(now):
		return change.Done(name, fmt.Sprintf("Grain %s does not exist", name)), nil
	case !isList:
		return change.Failed(name, fmt.Sprintf("Grain %s is not a valid list", name)), nil
	}
	values, ok := a.Value.([]any)
	if !ok {
		values = []any{a.Value}
	}
	var comments []string
	var deleted []any
	for _, v := range values {
		comment := fmt.Sprintf("Value %s was deleted from grain %s", data.Str(v), name)
		switch {
		case !has(list, v):
			comments = append(comments, fmt.Sprintf("Value %s is absent from grain %s", data.Str(v), name))
			continue
		case change.Test(ctx):
			comment = fmt.Sprintf("Value %s in grain %s is set to be deleted", data.Str(v), name)
		default:
			if _, err := m.env.Call(ctx, "grains.remove", []any{name, v}, nil); err != nil {
				return nil, err
			}
		}
		comments, deleted = append(comments, comment), append(deleted, v)
	}
	return listResult(ctx, name, strings.Join(comments, "\n"), deleted), nil
}

func listResult(ctx context.Context, name, comment string, deleted []any) *data.Map {
	switch {
	case deleted == nil:
		return change.Done(name, comment)
	case change.Test(ctx):
		return change.Would(name, data.NewMap("deleted", deleted), comment)
	}
	return change.New(name, true, data.NewMap("deleted", deleted), comment)
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
func (m *module) append(ctx context.Context, a appendArgs) (any, error) {
	name := colons(a.Name, a.Delimiter)
	now, ok, err := m.grain(ctx, name)
	if err != nil {
		return nil, err
	}
	list, isList := now.([]any)
	added := data.NewMap("added", a.Value)
	switch value := data.Str(a.Value); {
	case !ok:
		return change.Failed(name, fmt.Sprintf("Grain %s does not exist", name)), nil
	case isList && has(list, a.Value):
		return change.Done(name, fmt.Sprintf("Value %s is already in the list for grain %s", value, name)), nil
	case !isList && a.Convert != true:
		return change.Failed(name, fmt.Sprintf("Grain %s is not a valid list", name)), nil
	case change.Test(ctx) && isList:
		return change.Would(name, added, fmt.Sprintf("Value %s in grain %s is set to be added", value, name)), nil
	case change.Test(ctx):
		return change.Would(name, added, fmt.Sprintf("Grain %s is set to be converted to list and value %s will be added", name, value)), nil
	}
	if isList {
		_, err = m.env.Call(ctx, "grains.append", []any{name, a.Value}, nil)
	} else {
		_, err = m.env.Call(ctx, "grains.setval", []any{name, converted(now, a.Value)}, nil)
	}
	if err != nil {
		return nil, err
	}
	return change.New(name, true, added, fmt.Sprintf("Value %s was added to grain %s", data.Str(a.Value), name)), nil
}

func converted(now, v any) []any {
	if now == nil {
		return []any{v}
	}
	return []any{now, v}
}
