package saltjinja

import (
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// iterFilters returns the filters that Salt takes from Python's itertools. They return lists, while
// Python's can be read only once.
func iterFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"combinations": choose("combinations",
			func(i, j int) bool { return j > i }, false),
		"combinations_with_replacement": choose("combinations_with_replacement",
			func(i, j int) bool { return j >= i }, false),
		"permutations": choose("permutations", nil, true),
		"compress":     compress, "product": product, "zip": zip,
		"zip_longest": zipLongest,
	}
}

// choose makes tuples of r elements. next reports which elements may follow one another; without
// it, no element may occur twice.
func choose(name string, next func(i, j int) bool, optional bool) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		length := "r"
		if optional {
			length = "r="
		}
		p := bind(c, name, "iterable", length)
		items := p.items(0)
		r := len(items)
		if v := p.or(1, nil); v != nil {
			r = int(p.number(1, 0))
		}
		if r < 0 {
			p.note(jinja.Raise(jinja.ValueError, "r must be non-negative"))
		}
		if p.err != nil {
			return nil, p.err
		}
		t := &tuples{c: c, pools: slices.Repeat([][]any{items}, min(r, 1<<16)), next: next,
			once: next == nil, at: []int{}}
		if err := t.make(); err != nil {
			return nil, err
		}
		return jinja.NewList(t.out...), nil
	}
}

// tuples makes all tuples of one element of each pool.
type tuples struct {
	c     *jinja.Call
	pools [][]any
	next  func(i, j int) bool
	once  bool // no position occurs twice
	at    []int
	out   []any
}

func (t *tuples) make() error {
	n := len(t.at)
	if n == len(t.pools) {
		tuple := make(data.Tuple, n)
		for i, at := range t.at {
			tuple[i] = t.pools[i][at]
		}
		t.out = append(t.out, tuple)
		return t.c.Room(16 * (n + 2))
	}
	for i := range t.pools[n] {
		if n > 0 && (t.next != nil && !t.next(t.at[n-1], i) || t.once && slices.Contains(t.at, i)) {
			continue
		}
		t.at = append(t.at, i)
		if err := t.make(); err != nil {
			return err
		}
		t.at = t.at[:n]
	}
	return t.c.Context().Err()
}

func product(c *jinja.Call) (any, error) {
	repeat := 1
	for _, k := range c.Kw {
		n, ok := k.Value.(int64)
		if k.Name != "repeat" || !ok || n < 0 || n > 1<<16 {
			return nil, jinja.Raise(jinja.TypeError,
				"product() got an unexpected keyword argument '%s'", k.Name)
		}
		repeat = int(n)
	}
	pools, err := lists(c, c.Args)
	if err != nil {
		return nil, err
	}
	t := &tuples{c: c, pools: slices.Repeat(pools, repeat), at: []int{}}
	if err := t.make(); err != nil {
		return nil, err
	}
	return jinja.NewList(t.out...), nil
}

func lists(c *jinja.Call, values []any) ([][]any, error) {
	out := make([][]any, len(values))
	for i, v := range values {
		var err error
		if out[i], err = c.Items(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func compress(c *jinja.Call) (any, error) {
	p := bind(c, "compress", "data", "selectors")
	items, wanted := p.items(0), p.items(1)
	out := jinja.NewList()
	for i := range min(len(items), len(wanted)) {
		ok, err := c.Truth(wanted[i])
		p.note(err)
		if ok {
			out.Items = append(out.Items, items[i])
		}
	}
	return out, p.err
}

func zip(c *jinja.Call) (any, error) {
	pools, err := lists(c, c.Args)
	if err != nil {
		return nil, err
	}
	n := len(pools[0])
	for _, pool := range pools {
		n = min(n, len(pool))
	}
	return zipped(pools, n, nil), nil
}

func zipLongest(c *jinja.Call) (any, error) {
	var fill any
	for _, k := range c.Kw {
		if k.Name != "fillvalue" {
			return nil, jinja.Raise(jinja.TypeError,
				"zip_longest() got an unexpected keyword argument")
		}
		fill = k.Value
	}
	pools, err := lists(c, c.Args)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, pool := range pools {
		n = max(n, len(pool))
	}
	if err := c.Room(16 * n * len(pools)); err != nil {
		return nil, err
	}
	return zipped(pools, n, fill), nil
}

func zipped(pools [][]any, n int, fill any) any {
	out := jinja.NewList()
	for i := range n {
		t := make(data.Tuple, len(pools))
		for j, pool := range pools {
			if t[j] = fill; i < len(pool) {
				t[j] = pool[i]
			}
		}
		out.Items = append(out.Items, t)
	}
	return out
}
