package grains

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/loader/facts"
)

type setvalsArgs struct {
	Grains        any
	Destructive   any `default:"False"`
	RefreshPillar any `default:"True"`
}

// setvals sets grains in the grains file, and returns them.
//
// destructive
//
//	Remove the grains whose new value is None. Default: False.
//
// refresh_pillar
//
//	Refresh the pillar afterwards. Default: True.
//
// CLI Example:
//
//	salt '*' grains.setvals "{'key1': 'val1', 'key2': 'val2'}"
func (m *module) setvals(ctx context.Context, a setvalsArgs) (any, error) {
	change, ok := a.Grains.(*data.Map)
	if !ok {
		return nil, saltException("setvals grains must be a dictionary.")
	}
	m.mu.Lock()
	result, err := m.store(change, a.Destructive == true)
	m.mu.Unlock()
	return m.refreshed(ctx, result, err, a.RefreshPillar)
}

type setvalArgs struct {
	Key           any
	Val           any
	Destructive   any `default:"False"`
	RefreshPillar any `default:"True"`
}

// setval sets one grain in the grains file.
//
// destructive
//
//	Remove the grain if the new value is None. Default: False.
//
// refresh_pillar
//
//	Refresh the pillar afterwards. Default: True.
//
// CLI Example:
//
//	salt '*' grains.setval key val
//	salt '*' grains.setval key "{'sub-key': 'val', 'sub-key2': 'val2'}"
func (m *module) setval(ctx context.Context, a setvalArgs) (any, error) {
	if !data.Hashable(a.Key) {
		return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(a.Key))
	}
	return m.setvals(ctx, setvalsArgs{data.NewMap(a.Key, a.Val), a.Destructive, a.RefreshPillar})
}

type appendArgs struct {
	Key       any
	Val       any
	Convert   any    `default:"False"`
	Delimiter string `default:"':'"`
}

// append adds a value, or the values of a list, to a grain that is a list. A missing grain is
// created as a list.
//
// convert
//
//	Convert a grain that is not a list to one. Default: False, which returns an error text.
//
// CLI Example:
//
//	salt '*' grains.append key val
func (m *module) append(ctx context.Context, a appendArgs) (any, error) {
	return m.edit(ctx, a.Key, a.Delimiter, func(v any) ([]any, string) {
		list, ok := v.([]any)
		switch {
		case !ok && data.Truth(a.Convert) && v == nil:
			list = []any{}
		case !ok && data.Truth(a.Convert):
			list = []any{v}
		case !ok:
			return nil, fmt.Sprintf("The key %s is not a valid list", data.Str(a.Key))
		}
		if has(list, a.Val) {
			return nil, fmt.Sprintf("The val %s was already in the list %s", data.Str(a.Val),
				data.Str(a.Key))
		}
		if more, ok := a.Val.([]any); ok {
			return slices.Concat(list, more), ""
		}
		return append(slices.Clone(list), a.Val), ""
	})
}

func has(list []any, v any) bool {
	return slices.ContainsFunc(list, func(e any) bool { return data.Equal(e, v) })
}

type removeArgs struct {
	Key       any
	Val       any
	Delimiter string `default:"':'"`
}

// remove removes a value from a grain that is a list.
//
// CLI Example:
//
//	salt '*' grains.remove key val
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	return m.edit(ctx, a.Key, a.Delimiter, func(v any) ([]any, string) {
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Sprintf("The key %s is not a valid list", data.Str(a.Key))
		}
		i := slices.IndexFunc(list, func(e any) bool { return data.Equal(e, a.Val) })
		if i < 0 {
			return nil, fmt.Sprintf("The val %s was not in the list %s", data.Str(a.Val),
				data.Str(a.Key))
		}
		return slices.Delete(slices.Clone(list), i, i+1), ""
	})
}

// edit replaces the list at key by the result of change. If change returns a text instead, that is
// the result. For a missing grain change gets an empty list.
func (m *module) edit(
	ctx context.Context, key any, delim string, change func(any) ([]any, string),
) (any, error) {
	m.mu.Lock()
	grain, value, trouble, err := edited(data.Clone(m.now()).(*data.Map), key, delim, change)
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	if trouble != "" {
		m.mu.Unlock()
		return trouble, nil
	}
	result, err := m.store(data.NewMap(grain, value), false)
	m.mu.Unlock()
	return m.refreshed(ctx, result, err, true)
}

// edited returns the top-level grain that contains the list at key, with its value after the
// change, or the text returned by change.
func edited(
	all *data.Map, key any, delim string, change func(any) ([]any, string),
) (grain string, value any, trouble string, err error) {
	v, found, err := facts.Lookup(all, key, delim)
	if err != nil {
		return "", nil, "", err
	}
	if !found {
		v = []any{}
	}
	list, trouble := change(v)
	if trouble != "" {
		return "", nil, trouble, nil
	}
	if grain, err = storable(key); err != nil {
		return "", nil, "", err
	}
	value = list
	for delim != "" && strings.Contains(grain, delim) {
		var rest string
		grain, rest = lastCut(grain, delim)
		outer, ok := data.Lookup(all, grain, delim)
		if !ok {
			outer = data.NewMap()
		}
		switch outer := outer.(type) {
		case *data.Map:
			outer.Set(rest, value)
		case []any:
			if found {
				replaceIn(outer, rest, value)
			}
		}
		value = outer
	}
	return grain, value, "", nil
}

// lastCut cuts key at its last delim.
func lastCut(key, delim string) (head, tail string) {
	i := strings.LastIndex(key, delim)
	return key[:i], key[i+len(delim):]
}

type setArgs struct {
	Key         any
	Val         any    `default:"''"`
	Force       any    `default:"False"`
	Destructive any    `default:"False"`
	Delimiter   string `default:"':'"`
}

// set sets a grain, which may be nested in others, and returns the change. Lists and dictionaries
// are overwritten only with force=True.
//
// force
//
//	Overwrite lists and dictionaries. Default: False.
//
// destructive
//
//	Remove the grain if the new value is None. Default: False.
//
// CLI Example:
//
//	salt '*' grains.set 'apps:myApp:port' 2209
//	salt '*' grains.set 'apps:myApp' '{port: 2209}'
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	m.mu.Lock()
	all := data.Clone(m.now()).(*data.Map)
	key, value, comment, ok, err := place(all, a)
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	if comment != "" {
		m.mu.Unlock()
		return report(comment, data.NewMap(), ok), nil
	}
	result, err := m.store(data.NewMap(key, value), a.Destructive == true)
	m.mu.Unlock()
	result, err = m.refreshed(ctx, result, err, true)
	if err != nil {
		return nil, err
	}
	if trouble, ok := result.(string); ok {
		return report(trouble, data.NewMap(), false), nil
	}
	return report("", result, true), nil
}

func report(comment string, changes any, result bool) *data.Map {
	return data.NewMap("comment", comment, "changes", changes, "result", result)
}

// place puts the value of a into all and returns the top-level grain that contains it, with its new
// value. If nothing is to be set it returns a comment, and whether that counts as success.
func place(all *data.Map, a setArgs) (key string, value any, comment string, ok bool, err error) {
	old, there, err := facts.Lookup(all, a.Key, a.Delimiter)
	if err != nil {
		return "", nil, "", false, err
	}
	force, destructive := data.Truth(a.Force), data.Truth(a.Destructive)
	switch {
	case there && data.Equal(old, a.Val) && (a.Val != nil || a.Destructive != true):
		return "", nil, "Grain is already set", true, nil
	case there && old != nil && !force && isComplex(old):
		return "", nil, fmt.Sprintf("The key '%s' exists but is a dict or a list. Use 'force=True' to overwrite.", data.Str(a.Key)), false, nil
	case there && old != nil && !force && isComplex(a.Val):
		return "", nil, fmt.Sprintf("The key '%s' exists and the given value is a dict or a list. Use 'force=True' to overwrite.", data.Str(a.Key)), false, nil
	}
	if key, err = storable(a.Key); err != nil {
		return "", nil, "", false, err
	}
	value = a.Val
	for a.Delimiter != "" && strings.Contains(key, a.Delimiter) {
		var rest string
		key, rest = lastCut(key, a.Delimiter)
		outer, found := data.Lookup(all, key, a.Delimiter)
		if !found {
			outer = data.NewMap()
		}
		next, fits := putInside(outer, rest, value, destructive, force)
		if !fits {
			return "", nil, fmt.Sprintf("The key '%s' value is '%s', which is different from the provided key '%s'. Use 'force=True' to overwrite.",
				key, data.Str(outer), rest), false, nil
		}
		value = next
	}
	return key, value, "", true, nil
}

func isComplex(v any) bool {
	switch v.(type) {
	case *data.Map, []any:
		return true
	}
	return false
}

// putInside sets the value of the key rest in outer and returns the new outer. If outer is a
// dictionary the key is set. If it is a list, the string rest or a dictionary with that key is
// replaced or added. Any other value is replaced if it equals the string rest, or by force.
func putInside(outer any, rest string, value any, destructive, force bool) (any, bool) {
	switch outer := outer.(type) {
	case *data.Map:
		if value == nil && destructive {
			outer.Delete(rest)
		} else {
			outer.Set(rest, value)
		}
		return outer, true
	case []any:
		return putInList(slices.Clone(outer), rest, value), true
	}
	if data.Equal(outer, rest) || force {
		return data.NewMap(rest, value), true
	}
	return nil, false
}

func putInList(list []any, rest string, value any) []any {
	updated := false
	for i, e := range list {
		if inside, ok := e.(*data.Map); ok && inside.Has(rest) {
			inside.Set(rest, value)
			updated = true
		} else if data.Equal(e, rest) {
			list[i] = data.NewMap(rest, value)
			updated = true
		}
	}
	if !updated {
		list = append(list, data.NewMap(rest, value))
	}
	return list
}

type delkeyArgs struct {
	Key   any
	Force any `default:"False"`
}

// delkey removes a grain from the grains file.
//
// force
//
//	Also remove lists and dictionaries. Default: False.
//
// CLI Example:
//
//	salt '*' grains.delkey key
func (m *module) delkey(ctx context.Context, a delkeyArgs) (any, error) {
	return m.set(ctx, setArgs{Key: a.Key, Force: a.Force, Destructive: true, Delimiter: delimiter})
}

type delvalArgs struct {
	Key         any
	Destructive any `default:"False"`
	Force       any `default:"False"`
}

// delval sets a grain to None. With destructive=True it is the same as grains.delkey.
//
// force
//
//	Overwrite lists and dictionaries. Default: False.
//
// CLI Example:
//
//	salt '*' grains.delval key
func (m *module) delval(ctx context.Context, a delvalArgs) (any, error) {
	return m.set(ctx, setArgs{Key: a.Key, Force: a.Force, Destructive: a.Destructive,
		Delimiter: delimiter})
}
