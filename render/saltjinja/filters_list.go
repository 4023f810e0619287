package saltjinja

import (
	"crypto/sha512"
	"encoding/hex"
	"math/rand/v2"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyrandom"
	"github.com/brineproject/brine/jinja"
)

// listFilters returns the filters for lists (salt/utils/jinja.py, salt/utils/data.py).
func listFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"sequence": one("ensure_sequence_filter", sequence), "is_list": isList, "is_iter": isIter,
		"min": one("lst_min", func(c *jinja.Call, v any) (any, error) { return extreme(c, v, "min") }),
		"max": one("lst_max", func(c *jinja.Call, v any) (any, error) { return extreme(c, v, "max") }),
		"avg": one("lst_avg", average), "flatten": flatten,
		"sorted_ignorecase": one("sorted_ignorecase", sortedIgnoreCase),
		"exactly_n_true":    exactly, "exactly_one_true": one("exactly_one",
			func(c *jinja.Call, v any) (any, error) { return exactlyN(c, v, 1) }),
		"substring_in_list": substringInList, "compare_lists": compareLists,
		"random_sample": randomSample, "random_shuffle": randomShuffle,
	}
}

func sequence(_ *jinja.Call, v any) (any, error) {
	switch v.(type) {
	case *jinja.List, data.Tuple, *data.Map:
		return v, nil
	}
	if jinja.TypeName(v) == "set" {
		return v, nil
	}
	return jinja.NewList(v), nil
}

// isList is the filter is_list and the test list.
func isList(c *jinja.Call) (any, error) {
	args, err := c.Bind("is_list", "value")
	if err != nil {
		return nil, err
	}
	_, ok := args[0].(*jinja.List)
	return ok, nil
}

func isIter(c *jinja.Call) (any, error) {
	p := bind(c, "is_iter", "thing", "ignore=")
	if p.err != nil {
		return nil, p.err
	}
	return iterable(c, p.args[0])
}

// iterable reports whether a value other than text can be looped over.
func iterable(c *jinja.Call, v any) (bool, error) {
	switch v := v.(type) {
	case *jinja.List, *data.Map, data.Tuple, jinja.Iterable, jinja.Iterator, []byte:
		return true, nil
	case *jinja.Undefined:
		return false, defined(v)
	}
	return false, nil
}

func extreme(c *jinja.Call, v any, which string) (any, error) {
	items, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, jinja.Raise(jinja.ValueError, "%s() arg is an empty sequence", which)
	}
	best := items[0]
	for _, item := range items[1:] {
		a, b := item, best
		if which == "max" {
			a, b = best, item
		}
		less, err := c.Less(a, b)
		if err != nil {
			return nil, err
		}
		if less {
			best = item
		}
	}
	return best, nil
}

// average returns the average of a list; the average of a single number is the number.
func average(c *jinja.Call, v any) (any, error) {
	if f, ok := asFloat(v); ok {
		return f, nil
	}
	if s, ok := textOf(v); ok {
		f, ok := asFloat(toNumber(s))
		if !ok {
			return nil, jinja.Raise(jinja.ValueError, "could not convert string to float: %s",
				data.Repr(s))
		}
		return f, nil
	}
	items, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, jinja.Raise(jinja.ZeroDivisionError, "division by zero")
	}
	sum := 0.0
	for _, item := range items {
		f, ok := asFloat(item)
		if !ok {
			return nil, typeError(item, "unsupported operand type(s) for +: 'int' and '"+
				jinja.TypeName(item)+"'")
		}
		sum += f
	}
	return sum / float64(len(items)), nil
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func flatten(c *jinja.Call) (any, error) {
	p := bind(c, "flatten", "data", "levels=", "preserve_nulls=")
	levels := -1
	if v := p.or(1, nil); v != nil {
		levels = int(p.number(1, -1))
	}
	f := &flattener{c: c, nulls: p.truth(2), seen: map[any]bool{}}
	if p.err == nil {
		p.err = f.add(p.args[0], levels)
	}
	return jinja.NewList(f.out...), p.err
}

type flattener struct {
	c     *jinja.Call
	nulls bool
	seen  map[any]bool
	out   []any
}

func (f *flattener) add(v any, levels int) error {
	if isContainer(v) {
		if f.seen[v] {
			return jinja.Raise("RecursionError", "Reference cycle detected. Check input list.")
		}
		f.seen[v] = true
	}
	items, err := f.c.Items(v)
	if err != nil {
		return err
	}
	for _, item := range items {
		if !f.nulls && (item == nil || item == "None" || item == "null") {
			continue
		}
		deeper, err := iterable(f.c, item)
		if err != nil {
			return err
		}
		switch {
		case !deeper || levels == 0:
			f.out = append(f.out, item)
		case levels < 0:
			err = f.add(item, -1)
		default:
			err = f.add(item, levels-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sortedIgnoreCase(c *jinja.Call, v any) (any, error) {
	items, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if _, ok := textOf(item); !ok {
			return nil, typeErrorKind(jinja.AttributeError, item, "'"+jinja.TypeName(item)+
				"' object has no attribute 'lower'")
		}
	}
	out, err := sorted(c, items, func(v any) any {
		s, _ := textOf(v)
		return strings.ToLower(s)
	})
	return jinja.NewList(out...), err
}

func exactly(c *jinja.Call) (any, error) {
	p := bind(c, "exactly_n", "iterable", "amount=")
	n := int(p.number(1, 1))
	if p.err != nil {
		return nil, p.err
	}
	return exactlyN(c, p.args[0], n)
}

func exactlyN(c *jinja.Call, v any, n int) (any, error) {
	items, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		ok, err := c.Truth(item)
		if err != nil {
			return nil, err
		}
		if ok {
			n--
		}
	}
	return n == 0, nil
}

func substringInList(c *jinja.Call) (any, error) {
	p := bind(c, "substr_in_list", "string_to_search_for", "list_to_search")
	part, isText := textOf(p.args[0])
	items := p.items(1)
	if !isText && len(items) > 0 {
		p.note(typeError(p.args[0], "'in <string>' requires string as left operand, not "+
			jinja.TypeName(p.args[0])))
	}
	for _, item := range items {
		s, ok := textOf(item)
		if !ok && p.err == nil {
			p.err = typeError(item, "argument of type '"+jinja.TypeName(item)+"' is not iterable")
		}
		if p.err == nil && strings.Contains(s, part) {
			return true, nil
		}
	}
	return false, p.err
}

// among reports whether a list contains an element equal to v.
func among(c *jinja.Call, items []any, v any) (bool, error) {
	for _, item := range items {
		same, err := c.Equal(item, v)
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func compareLists(c *jinja.Call) (any, error) {
	p := bind(c, "compare_lists", "old", "new")
	before, after := p.items(0), p.items(1)
	out := data.NewMap()
	for _, side := range []struct {
		name     string
		of, from []any
	}{{"new", after, before}, {"old", before, after}} {
		only, err := without(c, side.of, side.from)
		p.note(err)
		if len(only) > 0 {
			out.Set(side.name, jinja.NewList(only...))
		}
	}
	return out, p.err
}

func without(c *jinja.Call, items, others []any) ([]any, error) {
	var out []any
	for _, item := range items {
		there, err := among(c, others, item)
		if err != nil {
			return nil, err
		}
		if !there {
			out = append(out, item)
		}
	}
	return out, nil
}

func randomSample(c *jinja.Call) (any, error) {
	p := bind(c, "sample", "value", "size", "seed=")
	items, n := p.items(0), int(p.number(1, 0))
	return sample(p, items, n, p.or(2, nil))
}

func randomShuffle(c *jinja.Call) (any, error) {
	p := bind(c, "shuffle", "value", "seed=")
	items := p.items(0)
	return sample(p, items, len(items), p.or(1, nil))
}

// sample picks n elements. The same seed, which must be a text, always gives the same ones
// (salt/utils/data.py, sample).
func sample(p *params, items []any, n int, seed any) (any, error) {
	if p.err == nil && (n < 0 || n > len(items)) {
		p.err = jinja.Raise(jinja.ValueError, "Sample larger than population or is negative")
	}
	below := rand.Uint64N
	if seed != nil {
		text, ok := textOf(seed)
		if !ok {
			p.note(jinja.Raise(jinja.TypeError, "object supporting the buffer API required"))
		}
		sum := sha512.Sum512([]byte(text))
		below = pyrandom.FromText(hex.EncodeToString(sum[:])).Below
	}
	if p.err != nil {
		return nil, p.err
	}
	out := make([]any, 0, n)
	for _, i := range pyrandom.Sample(len(items), n, below) {
		out = append(out, items[i])
	}
	return jinja.NewList(out...), nil
}
