package jinja

import (
	"math/rand/v2"
	"strings"

	"github.com/brineproject/brine/data"
)

// A getter returns an attribute of an element, selected by the argument attribute of many filters.
type getter func(v any) (any, error)

// plainGetter returns the element itself.
func plainGetter(v any) (any, error) { return v, nil }

// attrParts splits a path: "a.0.b" are the keys "a", 0 and "b".
func attrParts(attribute any) []any {
	s, ok := textOf(attribute)
	if !ok {
		return []any{attribute}
	}
	var parts []any
	for _, p := range strings.Split(s, ".") {
		if n := fieldKey(p); p != "" {
			parts = append(parts, n)
		} else {
			parts = append(parts, p)
		}
	}
	return parts
}

// getter returns a function that follows a path; nil means the element itself. Undefined values on
// the way are replaced by otherwise, if that is not nil.
func (c *Call) getter(attribute, otherwise any, fold bool) getter {
	get := getter(plainGetter)
	if attribute != nil {
		parts := attrParts(attribute)
		get = func(v any) (any, error) {
			for _, p := range parts {
				var err error
				if v, err = c.f.run.getitem(v, p); err != nil {
					return nil, err
				}
				if _, u := v.(*Undefined); u && otherwise != nil {
					v = otherwise
				}
			}
			return v, nil
		}
	}
	if !fold {
		return get
	}
	return func(v any) (any, error) {
		v, err := get(v)
		return foldCase(v), err
	}
}

func foldCase(v any) any {
	if s, ok := textOf(v); ok {
		return lower(s)
	}
	return v
}

// folds reports whether the argument case_sensitive is off.
func (c *Call) folds(v any) (bool, error) {
	on, err := c.bool(v)
	return !on, err
}

func filterList(c *Call) (any, error) {
	args, err := c.bind(takes("sync_do_list", 0, need("value")))
	if err != nil {
		return nil, err
	}
	items, err := c.f.run.list(args[0])
	return &List{items}, err
}

func filterFirst(c *Call) (any, error) {
	args, err := c.bind(takes("sync_do_first", 1, need("seq")))
	if err != nil {
		return nil, err
	}
	it, err := c.f.run.iterate(args[0])
	if err != nil {
		return nil, err
	}
	v, ok, err := it.Next()
	if err == nil && !ok {
		return c.f.run.hint("No first item, sequence was empty."), nil
	}
	return v, err
}

func filterLast(c *Call) (any, error) {
	args, err := c.bind(takes("do_last", 1, need("seq")))
	if err != nil {
		return nil, err
	}
	switch v := args[0].(type) {
	case *List, data.Tuple, string, Markup, *data.Map, *dictView, *rangeValue, []byte:
	case *Undefined:
		return c.f.run.hint("No last item, sequence was empty."), v.strict()
	default:
		return nil, Raise(TypeError, "'%s' object is not reversible", typeName(v))
	}
	items, err := c.f.run.list(args[0])
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return c.f.run.hint("No last item, sequence was empty."), nil
	}
	return items[len(items)-1], nil
}

// RandomHookKey is the context key of a [RandomHook] for RenderWith.
type RandomHookKey struct{}

// A RandomHook is called for each use of the filter random, whose result differs each time.
type RandomHook func()

func filterRandom(c *Call) (any, error) {
	args, err := c.bind(takes("do_random", 1, need("seq")))
	if err != nil {
		return nil, err
	}
	n, err := c.f.run.length(args[0])
	if err != nil {
		return nil, err
	}
	if n == int64(0) {
		return c.f.run.hint("No random item, sequence was empty."), nil
	}
	if tell, ok := c.Context().Value(RandomHookKey{}).(RandomHook); ok {
		tell()
	}
	key := rand.Int64N(n.(int64))
	v, ok, err := c.f.run.item(args[0], key)
	if err == nil && !ok {
		err = c.f.run.keyError(key)
	}
	return v, err
}

func filterSort(c *Call) (any, error) {
	args, err := c.bind(takes("do_sort", 1, need("value"), opt("reverse", false),
		opt("case_sensitive", false), opt("attribute", nil)))
	if err != nil {
		return nil, err
	}
	reverse, err := c.bool(args[1])
	if err != nil {
		return nil, err
	}
	fold, items, err := c.foldedList(args[2], args[0])
	if err != nil {
		return nil, err
	}
	var gets []getter
	if s, ok := textOf(args[3]); ok {
		for _, part := range strings.Split(s, ",") {
			gets = append(gets, c.getter(part, nil, fold))
		}
	} else {
		gets = append(gets, c.getter(args[3], nil, fold))
	}
	keys := make([]any, len(items))
	for i, v := range items {
		if keys[i], err = sortKey(gets, v); err != nil {
			return nil, err
		}
	}
	sorted, err := c.f.run.sorted(items, keys, reverse)
	return &List{sorted}, err
}

// foldedList returns the elements of v, and whether case is ignored.
func (c *Call) foldedList(sensitive, v any) (fold bool, items []any, err error) {
	if fold, err = c.folds(sensitive); err == nil {
		items, err = c.f.run.list(v)
	}
	return fold, items, err
}

func sortKey(gets []getter, v any) (any, error) {
	key := make([]any, len(gets))
	for i, get := range gets {
		var err error
		if key[i], err = get(v); err != nil {
			return nil, err
		}
	}
	return &List{key}, nil
}

func filterDictSort(c *Call) (any, error) {
	args, err := c.bind(takes("do_dictsort", 0, need("value"), opt("case_sensitive", false),
		opt("by", "key"), opt("reverse", false)))
	if err != nil {
		return nil, err
	}
	fold, err := c.folds(args[1])
	if err != nil {
		return nil, err
	}
	by, _ := textOf(args[2])
	if by != "key" && by != "value" {
		return nil, Raise(FilterArgumentError, `You can only sort by either "key" or "value"`)
	}
	reverse, err := c.bool(args[3])
	if err != nil {
		return nil, err
	}
	items, err := c.pairs(args[0])
	if err != nil {
		return nil, err
	}
	keys := make([]any, len(items))
	for i, pair := range items {
		k := pair.(data.Tuple)[0]
		if by == "value" {
			k = pair.(data.Tuple)[1]
		}
		if fold {
			k = foldCase(k)
		}
		keys[i] = k
	}
	sorted, err := c.f.run.sorted(items, keys, reverse)
	return &List{sorted}, err
}

// pairs returns the items of a mapping.
func (c *Call) pairs(v any) ([]any, error) {
	switch m := v.(type) {
	case *data.Map:
		return c.f.run.list(&dictView{m, "items"})
	case Mapper:
		d := &data.Map{}
		if err := c.f.run.mergeMapper(d, m); err != nil {
			return nil, err
		}
		return c.f.run.list(&dictView{d, "items"})
	case *Undefined:
		return nil, m.fail()
	}
	return nil, Raise(AttributeError, "'%s' object has no attribute 'items'", typeName(v))
}

func filterItems(c *Call) (any, error) {
	args, err := c.bind(takes("do_items", 0, need("value")))
	if err != nil {
		return nil, err
	}
	return c.later(func() (Iterator, error) {
		if _, ok := args[0].(*Undefined); ok {
			return &sliceIterator{}, nil
		}
		if !isMapping(args[0]) {
			return nil, Raise(TypeError, "Can only get item pairs from a mapping.")
		}
		items, err := c.pairs(args[0])
		return &sliceIterator{items: items}, err
	}), nil
}

// later returns a generator: begin is called when the first element is requested.
func (c *Call) later(begin func() (Iterator, error)) Iterator {
	var it Iterator
	return iteratorFunc(func() (any, bool, error) {
		if it == nil {
			var err error
			if it, err = begin(); err != nil {
				it = &sliceIterator{}
				return nil, false, err
			}
		}
		return it.Next()
	})
}

func filterUnique(c *Call) (any, error) {
	args, err := c.bind(takes("do_unique", 1, need("value"), opt("case_sensitive", false),
		opt("attribute", nil)))
	if err != nil {
		return nil, err
	}
	return c.later(func() (Iterator, error) {
		fold, err := c.folds(args[1])
		if err != nil {
			return nil, err
		}
		get := c.getter(args[2], nil, fold)
		it, err := c.f.run.iterate(args[0])
		seen := &data.Map{}
		return &filtered{it: it, keep: func(v any) (bool, error) {
			k, err := get(v)
			if err == nil {
				k, err = hashKey(k)
			}
			if err != nil || seen.Has(k) {
				return false, err
			}
			seen.Set(k, nil)
			return true, c.f.run.room(32)
		}}, err
	}), nil
}

func filterMin(c *Call) (any, error) { return extreme(c, "do_min", "<") }
func filterMax(c *Call) (any, error) { return extreme(c, "do_max", ">") }

func extreme(c *Call, name string, op tokenKind) (any, error) {
	args, err := c.bind(takes(name, 1, need("value"), opt("case_sensitive", false),
		opt("attribute", nil)))
	if err != nil {
		return nil, err
	}
	fold, items, err := c.foldedList(args[1], args[0])
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return c.f.run.hint("No aggregated item, sequence was empty."), nil
	}
	get := c.getter(args[2], nil, fold)
	best := items[0]
	bestKey, err := get(best)
	if err != nil {
		return nil, err
	}
	for _, v := range items[1:] {
		key, err := get(v)
		if err != nil {
			return nil, err
		}
		better, err := c.f.run.compare(op, key, bestKey)
		if err != nil {
			return nil, err
		}
		if better {
			best, bestKey = v, key
		}
	}
	return best, nil
}

func filterJoin(c *Call) (any, error) {
	args, err := c.bind(takes("sync_do_join", 1, need("value"), opt("d", ""),
		opt("attribute", nil)))
	if err != nil {
		return nil, err
	}
	get := c.getter(args[2], nil, false)
	items, err := c.f.run.list(args[0])
	if err != nil {
		return nil, err
	}
	sep, err := c.f.run.str(args[1])
	if err != nil {
		return nil, err
	}
	_, safe := args[1].(Markup)
	for i, v := range items {
		if items[i], err = get(v); err != nil {
			return nil, err
		}
		_, m := items[i].(Markup)
		safe = safe || m
	}
	safe = safe && *c.f.cx.autoescape
	parts := make([]string, len(items))
	for i, v := range items {
		if parts[i], err = c.f.run.str(v); err != nil {
			return nil, err
		}
		if _, m := v.(Markup); safe && !m {
			parts[i] = escapeHTML(parts[i])
		}
	}
	if _, m := args[1].(Markup); safe && !m {
		sep = escapeHTML(sep)
	}
	out, err := c.f.run.joinTexts(parts, sep)
	if safe {
		return Markup(out), err
	}
	return out, err
}

func filterSum(c *Call) (any, error) {
	args, err := c.bind(takes("sync_do_sum", 1, need("iterable"), opt("attribute", nil),
		opt("start", int64(0))))
	if err != nil {
		return nil, err
	}
	if _, ok := textOf(args[2]); ok {
		return nil, Raise(TypeError, "sum() can't sum strings [use ''.join(seq) instead]")
	}
	get := c.getter(args[1], nil, false)
	items, err := c.f.run.list(args[0])
	if err != nil {
		return nil, err
	}
	sum := args[2]
	for _, v := range items {
		if v, err = get(v); err != nil {
			return nil, err
		}
		if sum, err = c.f.run.binary("+", sum, v); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func filterBatch(c *Call) (any, error) {
	args, err := c.bind(takes("do_batch", 0, need("value"), need("linecount"),
		opt("fill_with", nil)))
	if err != nil {
		return nil, err
	}
	return c.later(func() (Iterator, error) {
		items, err := c.f.run.list(args[0])
		if err != nil {
			return nil, err
		}
		n := -1
		if isInt(args[1]) {
			n = count(args[1])
		}
		var rows, row []any
		for _, v := range items {
			if len(row) == n {
				rows = append(rows, &List{row})
				row = nil
			}
			row = append(row, v)
		}
		if len(row) == 0 {
			return &sliceIterator{items: rows}, nil
		}
		if args[2] != nil && len(row) < n {
			fill, err := c.f.run.repeatItems([]any{args[2]}, n-len(row))
			if err != nil {
				return nil, err
			}
			row = append(row, fill...)
		}
		return &sliceIterator{items: append(rows, &List{row})}, nil
	}), nil
}

func filterSlice(c *Call) (any, error) {
	args, err := c.bind(takes("sync_do_slice", 0, need("value"), need("slices"),
		opt("fill_with", nil)))
	if err != nil {
		return nil, err
	}
	return c.later(func() (Iterator, error) {
		items, err := c.f.run.list(args[0])
		if err != nil {
			return nil, err
		}
		n, err := c.f.run.binary("//", int64(len(items)), args[1])
		if err != nil {
			return nil, err
		}
		slices, err := indexOf(args[1])
		if err != nil {
			return nil, err
		}
		return c.columns(items, int(n.(int64)), slices, args[2])
	}), nil
}

func (c *Call) columns(items []any, each, slices int, fill any) (Iterator, error) {
	if err := c.f.run.room(32 * max(slices, 0)); err != nil {
		return nil, err
	}
	var out []any
	longer, at := 0, 0
	if slices > 0 {
		longer = len(items) % slices
	}
	for i := range max(slices, 0) {
		end := at + each
		if i < longer {
			end++
		}
		column := append([]any{}, items[at:end]...)
		if fill != nil && i >= longer {
			column = append(column, fill)
		}
		out = append(out, &List{column})
		at = end
	}
	return &sliceIterator{items: out}, nil
}

// filterGroupBy returns a group for each value of an attribute, in the order of the values.
func filterGroupBy(c *Call) (any, error) {
	args, err := c.bind(takes("sync_do_groupby", 1, need("value"), need("attribute"),
		opt("default", nil), opt("case_sensitive", false)))
	if err != nil {
		return nil, err
	}
	fold, err := c.folds(args[3])
	if err != nil {
		return nil, err
	}
	get := c.getter(args[1], args[2], fold)
	items, err := c.f.run.list(args[0])
	if err != nil {
		return nil, err
	}
	keys := make([]any, len(items))
	for i, v := range items {
		if keys[i], err = get(v); err != nil {
			return nil, err
		}
	}
	sorted, err := c.f.run.sorted(items, keys, false)
	if err != nil {
		return nil, err
	}
	return c.groups(sorted, get, c.getter(args[1], args[2], false))
}

func (c *Call) groups(sorted []any, get, name getter) (any, error) {
	out := &List{Items: []any{}}
	var last any
	for i, v := range sorted {
		key, err := get(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			same, err := c.f.run.equal(key, last)
			if err != nil {
				return nil, err
			}
			if same {
				g := out.Items[len(out.Items)-1].(*group)
				g.list.Items = append(g.list.Items, v)
				continue
			}
		}
		last = key
		if key, err = name(v); err != nil {
			return nil, err
		}
		out.Items = append(out.Items, &group{key, &List{[]any{v}}})
	}
	return out, nil
}

// filterMap applies a filter to each element, or returns an attribute of it.
func filterMap(c *Call) (any, error) {
	return c.lazily(func() (getter, error) {
		if len(c.Args) == 1 {
			return c.attributeMap()
		}
		return func(v any) (any, error) {
			fn, err := c.byName("filter", c.f.run.env.filters, c.Args[1])
			if err != nil {
				return nil, err
			}
			return fn(c.next(v, 2))
		}, nil
	}, nil)
}

func (c *Call) attributeMap() (getter, error) {
	var attribute, otherwise any
	given := false
	var unknown string
	for _, k := range c.Kw {
		switch k.Name {
		case "attribute":
			attribute, given = k.Value, true
		case "default":
			otherwise = k.Value
		default:
			unknown = k.Name
		}
	}
	switch {
	case !given:
		return nil, Raise(FilterArgumentError, "map requires a filter argument")
	case unknown != "":
		return nil, Raise(FilterArgumentError, "Unexpected keyword argument %s", quote(unknown))
	}
	return c.getter(attribute, otherwise, false), nil
}

// next returns the call of a filter or test for one element, with the arguments from n on.
func (c *Call) next(v any, n int) *Call {
	args := append(make([]any, 0, len(c.Args)), v)
	if n < len(c.Args) {
		args = append(args, c.Args[n:]...)
	}
	return &Call{f: c.f, Args: args, Kw: c.Kw}
}

// lazily returns a generator over the value of a filter. The function that make returns is applied
// to each element; with keep its result decides whether the element stays.
func (c *Call) lazily(make func() (getter, error), keep *bool) (any, error) {
	if len(c.Args) == 0 {
		return nil, Raise(TypeError, "missing the value to filter")
	}
	v := c.Args[0]
	return c.later(func() (Iterator, error) {
		ok, err := c.f.run.truth(v)
		if err != nil || !ok {
			return &sliceIterator{}, err
		}
		apply, err := make()
		if err != nil {
			return nil, err
		}
		it, err := c.f.run.iterate(v)
		if err != nil {
			return nil, err
		}
		if keep == nil {
			return &mapped{it, c.f.run, apply}, nil
		}
		return &filtered{it: it, keep: func(v any) (bool, error) {
			if err := c.f.run.step(); err != nil {
				return false, err
			}
			v, err := apply(v)
			if err != nil {
				return false, err
			}
			ok, err := c.f.run.truth(v)
			return ok == *keep, err
		}}, nil
	}), nil
}

// mapped yields the result of apply for each element.
type mapped struct {
	it    Iterator
	run   *run
	apply getter
}

func (m *mapped) Next() (any, bool, error) {
	v, ok, err := m.it.Next()
	if err != nil || !ok {
		return nil, false, err
	}
	if err := m.run.step(); err != nil {
		return nil, false, err
	}
	v, err = m.apply(v)
	return v, err == nil, err
}

func filterSelect(c *Call) (any, error)     { return c.choose(true, false) }
func filterReject(c *Call) (any, error)     { return c.choose(false, false) }
func filterSelectAttr(c *Call) (any, error) { return c.choose(true, true) }
func filterRejectAttr(c *Call) (any, error) { return c.choose(false, true) }

// choose selects the elements for which a test, on the element or on an attribute, has the result
// keep.
func (c *Call) choose(keep, byAttr bool) (any, error) {
	return c.lazily(func() (getter, error) {
		get, n := getter(plainGetter), 1
		if byAttr {
			if len(c.Args) < 2 {
				return nil, Raise(FilterArgumentError, "Missing parameter for attribute name")
			}
			get, n = c.getter(c.Args[1], nil, false), 2
			if c.Args[1] == nil {
				get = plainGetter
			}
		}
		if len(c.Args) <= n {
			return get, nil
		}
		return func(v any) (any, error) {
			v, err := get(v)
			if err != nil {
				return nil, err
			}
			test, err := c.byName("test", c.f.run.env.tests, c.Args[n])
			if err != nil {
				return nil, err
			}
			return test(c.next(v, n+1))
		}, nil
	}, &keep)
}
