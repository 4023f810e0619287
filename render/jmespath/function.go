package jmespath

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// A function is a call.
type function struct {
	name string
	args []node
}

func invalid(format string, args ...any) error { return fmt.Errorf(format, args...) }

// A builtin is a function of the language: its number of arguments (-1: one or more), the types of
// the first ones, and its implementation.
type builtin struct {
	args  int
	types []string // each a list of names separated by |; "" accepts any type
	call  func(args []any) (any, error)
}

func (n function) eval(v any) (any, error) {
	b, ok := builtins()[n.name]
	if !ok {
		return nil, invalid("Unknown function: %s()", n.name)
	}
	if len(n.args) != b.args && (b.args >= 0 || len(n.args) == 0) {
		return nil, invalid("Expected %d arguments for function %s(), received %d", max(b.args, 1),
			n.name, len(n.args))
	}
	args := make([]any, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = a.eval(v); err != nil {
			return nil, err
		}
		if want := b.types[min(i, len(b.types)-1)]; want != "" &&
			!slices.Contains(strings.Split(want, "|"), kind(args[i])) {
			return nil, invalid("In function %s(), invalid type for value: %s, expected one of: ['%s'], received: \"%s\"",
				n.name, data.Repr(args[i]), strings.ReplaceAll(want, "|", "', '"), kind(args[i]))
		}
	}
	return b.call(args)
}

// kind returns the name of a value's type, like the function type.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any, data.Tuple:
		return "array"
	case *data.Map:
		return "object"
	case reference:
		return "expref"
	}
	return "number"
}

func builtins() map[string]builtin {
	num := func(fn func(float64) float64) func([]any) (any, error) {
		return func(a []any) (any, error) {
			if n, ok := a[0].(int64); ok {
				return int64(fn(float64(n))), nil
			}
			f, _ := number(a[0])
			return fn(f), nil
		}
	}
	whole := func(fn func(float64) float64) func([]any) (any, error) {
		return func(a []any) (any, error) {
			f, _ := number(a[0])
			return int64(fn(f)), nil
		}
	}
	return map[string]builtin{
		"abs": {1, []string{"number"}, num(math.Abs)}, "ceil": {1, []string{"number"},
			whole(math.Ceil)}, "floor": {1, []string{"number"}, whole(math.Floor)},
		"avg": {1, []string{"array"}, average}, "sum": {1, []string{"array"}, sum}, "contains": {2,
			[]string{"array|string", ""}, contains},
		"ends_with": {2, []string{"string"},
			func(a []any) (any, error) {
				return strings.HasSuffix(a[0].(string), a[1].(string)),
					nil
			}},
		"starts_with": {2, []string{"string"},
			func(a []any) (any, error) {
				return strings.HasPrefix(a[0].(string), a[1].(string)),
					nil
			}},
		"join": {2, []string{"string", "array"}, join}, "keys": {1, []string{"object"},
			func(a []any) (any, error) { return a[0].(*data.Map).Keys(), nil }},
		"values": {1, []string{"object"},
			func(a []any) (any, error) { return values{literal{a[0]}}.eval(nil) }},
		"length": {1, []string{"string|array|object"}, length}, "map": {2,
			[]string{"expref", "array"}, mapped},
		"max": {1, []string{"array"}, func(a []any) (any, error) { return extreme(a, 1) }},
		"min": {1, []string{"array"}, func(a []any) (any, error) { return extreme(a, -1) }},
		"max_by": {2, []string{"array", "expref"},
			func(a []any) (any, error) { return extremeBy(a, 1) }},
		"min_by": {2, []string{"array", "expref"},
			func(a []any) (any, error) { return extremeBy(a, -1) }},
		"merge": {-1, []string{"object"}, merge}, "not_null": {-1, []string{""}, notNull},
		"reverse": {1, []string{"string|array"}, reverse}, "sort": {1, []string{"array"},
			func(a []any) (any, error) { return sortBy([]any{a[0], reference{current{}}}) }},
		"sort_by":  {2, []string{"array", "expref"}, sortBy},
		"to_array": {1, []string{""}, toArray}, "to_number": {1, []string{""}, toNumber},
		"to_string": {1, []string{""}, toString},
		"type":      {1, []string{""}, func(a []any) (any, error) { return kind(a[0]), nil }},
	}
}

func sum(a []any) (any, error) {
	total, whole := 0.0, true
	for _, v := range a[0].([]any) {
		f, ok := number(v)
		if !ok {
			return nil, invalid("In function sum(), invalid type for value: %s", data.Repr(v))
		}
		if _, isInt := v.(int64); !isInt {
			whole = false
		}
		total += f
	}
	if whole {
		return int64(total), nil
	}
	return total, nil
}

func average(a []any) (any, error) {
	list := a[0].([]any)
	if len(list) == 0 {
		return nil, nil
	}
	total, err := sum(a)
	f, _ := number(total)
	return f / float64(len(list)), err
}

func contains(a []any) (any, error) {
	if s, ok := a[0].(string); ok {
		part, ok := a[1].(string)
		return ok && strings.Contains(s, part), nil
	}
	return slices.ContainsFunc(a[0].([]any), func(v any) bool { return equal(v, a[1]) }), nil
}

func join(a []any) (any, error) {
	var parts []string
	for _, v := range a[1].([]any) {
		s, ok := v.(string)
		if !ok {
			return nil, invalid("In function join(), invalid type for value: %s", data.Repr(v))
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, a[0].(string)), nil
}

func length(a []any) (any, error) {
	switch v := a[0].(type) {
	case string:
		return int64(len([]rune(v))), nil
	case *data.Map:
		return int64(v.Len()), nil
	}
	return int64(len(a[0].([]any))), nil
}

func mapped(a []any) (any, error) {
	out := []any{}
	for _, v := range a[1].([]any) {
		r, err := a[0].(reference).of.eval(v)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// order compares two texts or two numbers.
func order(a, b any) (int, error) {
	x, okA := a.(string)
	y, okB := b.(string)
	if okA && okB {
		return strings.Compare(x, y), nil
	}
	n, ok := numbers(a, b)
	if !ok {
		return 0, invalid("cannot compare %s with %s", data.Repr(a), data.Repr(b))
	}
	return n, nil
}

func extreme(a []any, sign int) (any, error) {
	return extremeBy([]any{a[0], reference{current{}}}, sign)
}

func extremeBy(a []any, sign int) (any, error) {
	var best, bestKey any
	for i, v := range a[0].([]any) {
		key, err := a[1].(reference).of.eval(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			n, err := order(key, bestKey)
			if err != nil {
				return nil, err
			}
			if n*sign <= 0 {
				continue
			}
		}
		best, bestKey = v, key
	}
	return best, nil
}

func sortBy(a []any) (any, error) {
	type keyed struct{ key, value any }
	var items []keyed
	for _, v := range a[0].([]any) {
		key, err := a[1].(reference).of.eval(v)
		if err != nil {
			return nil, err
		}
		items = append(items, keyed{key, v})
	}
	var failed error
	slices.SortStableFunc(items, func(x, y keyed) int {
		n, err := order(x.key, y.key)
		if err != nil {
			failed = err
		}
		return n
	})
	out := make([]any, len(items))
	for i := range items {
		out[i] = items[i].value
	}
	return out, failed
}

func merge(a []any) (any, error) {
	out := data.NewMap()
	for _, m := range a {
		out.Update(m.(*data.Map))
	}
	return out, nil
}

func notNull(a []any) (any, error) {
	for _, v := range a {
		if v != nil {
			return v, nil
		}
	}
	return nil, nil
}

func reverse(a []any) (any, error) {
	if s, ok := a[0].(string); ok {
		runes := []rune(s)
		slices.Reverse(runes)
		return string(runes), nil
	}
	out := slices.Clone(a[0].([]any))
	slices.Reverse(out)
	return out, nil
}

func toArray(a []any) (any, error) {
	if _, ok := a[0].([]any); ok {
		return a[0], nil
	}
	return []any{a[0]}, nil
}

func toNumber(a []any) (any, error) {
	s, ok := a[0].(string)
	if !ok {
		if _, isNumber := number(a[0]); isNumber {
			return a[0], nil
		}
		return nil, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f, nil
	}
	return nil, nil
}

func toString(a []any) (any, error) {
	if s, ok := a[0].(string); ok {
		return s, nil
	}
	return compact(a[0])
}

// compact writes JSON without blanks.
func compact(v any) (string, error) {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			s, err := compact(v[i])
			if err != nil {
				return "", err
			}
			parts[i] = s
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	case *data.Map:
		var parts []string
		for k, item := range v.All() {
			s, err := compact(item)
			if err != nil {
				return "", err
			}
			parts = append(parts, strconv.Quote(data.Str(k))+":"+s)
		}
		return "{" + strings.Join(parts, ",") + "}", nil
	case float64:
		return data.Repr(v), nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}
