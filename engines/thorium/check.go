package thorium

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

func (r *register) checkFunctions(*loader.Env) []loader.Func {
	all := []loader.Func{loader.F("contains", r.contains), loader.F("event", r.event)}
	for name, holds := range orders() {
		all = append(all,
			loader.F(name, func(_ context.Context, a compareArgs) (any, error) { return r.compare(a, holds), nil }),
			loader.F("len_"+name, func(_ context.Context, a compareArgs) (any, error) {
				return r.compareLength(a, holds), nil
			}))
	}
	return all
}

// orders returns for each comparison whether it holds for the order of two values: -1, 0 or 1.
func orders() map[string]func(order int) bool {
	return map[string]func(int) bool{
		"gt": func(o int) bool { return o > 0 }, "gte": func(o int) bool { return o >= 0 },
		"lt": func(o int) bool { return o < 0 }, "lte": func(o int) bool { return o <= 0 },
		"eq": func(o int) bool { return o == 0 }, "ne": func(o int) bool { return o != 0 },
	}
}

type compareArgs struct{ Name, Value any }

// compare succeeds if the comparison of the entry with a value holds. Values that have no order, such
// as a text and a number, are only equal or not.
func (r *register) compare(a compareArgs, holds func(int) bool) *data.Map {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.value(a.Name)
	if !ok {
		return change.Failed(a.Name, notIn(a.Name))
	}
	order, ok := compareValues(v, a.Value)
	if !ok && holds(-1) != holds(1) {
		return change.Failed(a.Name, "Value "+data.Str(a.Name)+" cannot be compared with "+data.Repr(a.Value))
	}
	return change.New(a.Name, holds(order), nil, "")
}

// compareValues returns the order of two values, and whether they have one. Without one it is 0 for
// equal values only.
func compareValues(a, b any) (int, bool) {
	x, xOK := number(a)
	y, yOK := number(b)
	s, sOK := a.(string)
	t, tOK := b.(string)
	switch {
	case xOK && yOK:
		return cmp.Compare(x, y), true
	case sOK && tOK:
		return cmp.Compare(s, t), true
	case data.Equal(a, b):
		return 0, false
	}
	return 1, false
}

// compareLength is compare for the length of an entry.
func (r *register) compareLength(a compareArgs, holds func(int) bool) *data.Map {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.value(a.Name)
	if !ok {
		return change.Failed(a.Name, notIn(a.Name))
	}
	length, ok := lengthOf(v)
	wanted, isNumber := number(a.Value)
	if !ok || !isNumber {
		return change.Failed(a.Name, "Value "+data.Str(a.Name)+" has no length that could be compared with "+
			data.Repr(a.Value))
	}
	return change.New(a.Name, holds(cmp.Compare(float64(length), wanted)), nil, "")
}

func lengthOf(v any) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case []any:
		return len(v), true
	case data.Set:
		return len(v), true
	case *data.Map:
		return v.Len(), true
	}
	return 0, false
}

type containsArgs struct {
	Name, Value any
	CountLt     any `default:"None"`
	CountLte    any `default:"None"`
	CountEq     any `default:"None"`
	CountGte    any `default:"None"`
	CountGt     any `default:"None"`
	CountNe     any `default:"None"`
}

// contains succeeds if the entry contains a value, as often as the counts say. As in Salt a count of 0
// does not count.
func (r *register) contains(_ context.Context, a containsArgs) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.value(a.Name)
	if !ok {
		return change.Failed(a.Name, notIn(a.Name)), nil
	}
	n := occurrences(v, a.Value)
	asked, holds := false, true
	for name, limit := range map[string]any{"lt": a.CountLt, "lte": a.CountLte, "eq": a.CountEq,
		"gte": a.CountGte, "gt": a.CountGt, "ne": a.CountNe} {
		if !data.Truth(limit) {
			continue
		}
		order, ok := compareValues(int64(n), limit)
		asked, holds = true, holds && ok && orders()[name](order)
	}
	if !asked {
		holds = n > 0
	}
	return change.New(a.Name, holds, nil, ""), nil
}

// occurrences returns how often a list, a set, a dictionary or a text contains a value.
func occurrences(in, v any) int {
	switch in := in.(type) {
	case string:
		if text, ok := v.(string); ok {
			return strings.Count(in, text)
		}
	case *data.Map:
		if in.Has(v) {
			return 1
		}
	case []any:
		return count(in, v)
	case data.Set:
		return count(in, v)
	}
	return 0
}

func count(list []any, v any) int {
	n := 0
	for _, e := range list {
		if data.Equal(e, v) {
			n++
		}
	}
	return n
}

// event succeeds if the round has an event whose tag matches the name.
func (r *register) event(_ context.Context, a nameArgs) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return change.New(a.Name, len(r.matching(data.Str(a.Name))) > 0, nil, ""), nil
}
