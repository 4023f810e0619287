package pillar

import (
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// The key __ of a dictionary, or of a dictionary that is the first element of a list, names the
// merge strategy.
const strategyKey = "__"

func checkStrategy(v any) (string, error) {
	s, _ := v.(string)
	if !slices.Contains([]string{"overwrite", "merge-first", "merge-last", "remove"}, s) {
		return "", fmt.Errorf(`Unknown strategy "%s", should be one of ('overwrite', 'merge-first', 'merge-last', 'remove')`, data.Str(v)) //nolint:staticcheck // Salt's text
	}
	return s, nil
}

// stackMap merges obj over stack, and changes both.
func stackMap(stack, obj *data.Map) (*data.Map, error) {
	strategy := "merge-last"
	if v, ok := obj.Get(strategyKey); ok {
		var err error
		if strategy, err = checkStrategy(v); err != nil {
			return nil, err
		}
		obj.Delete(strategyKey)
	}
	if strategy == "overwrite" {
		cleaned, _ := cleanup(obj).(*data.Map)
		return cleaned, nil
	}
	for k, v := range obj.All() {
		was, has := stack.Get(k)
		switch {
		case strategy == "remove":
			stack.Delete(k)
			continue
		case !has:
			stack.Set(k, cleanup(v))
			continue
		case strategy == "merge-first":
			was, v = cleanup(v), was
		}
		merged, err := stackValue(was, v)
		if err != nil {
			return nil, err
		}
		stack.Set(k, merged)
	}
	return stack, nil
}

// stackValue merges a value over another.
func stackValue(below, over any) (any, error) {
	if loader.TypeName(below) != loader.TypeName(over) {
		return cleanup(over), nil
	}
	switch over := over.(type) {
	case *data.Map:
		return stackMap(below.(*data.Map), over)
	case []any:
		return stackList(below.([]any), over)
	}
	return over, nil
}

func stackList(stack, obj []any) ([]any, error) {
	strategy := "merge-last"
	if v, ok := listStrategy(obj); ok {
		var err error
		if strategy, err = checkStrategy(v); err != nil {
			return nil, err
		}
		obj = obj[1:]
	}
	switch strategy {
	case "overwrite":
		return obj, nil
	case "remove":
		return slices.DeleteFunc(slices.Clone(stack), func(have any) bool {
			return slices.ContainsFunc(obj, func(x any) bool { return data.Equal(x, have) })
		}), nil
	case "merge-first":
		return slices.Concat(obj, stack), nil
	}
	return slices.Concat(stack, obj), nil
}

// listStrategy returns the strategy at the head of a list.
func listStrategy(list []any) (any, bool) {
	if len(list) == 0 {
		return nil, false
	}
	m, _ := list[0].(*data.Map)
	return m.Get(strategyKey)
}

// cleanup removes strategies from a value; as in Salt those within lists stay.
func cleanup(v any) any {
	switch v := v.(type) {
	case *data.Map:
		v.Delete(strategyKey)
		for k, x := range v.All() {
			v.Set(k, cleanup(x))
		}
	case []any:
		if _, ok := listStrategy(v); ok {
			return v[1:]
		}
	}
	return v
}
