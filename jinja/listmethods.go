package jinja

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// listMethod returns a method of list.
func listMethod(name string) method {
	switch name {
	case "append":
		return listAppend
	case "extend":
		return listExtend
	case "insert":
		return listInsert
	case "pop":
		return listPop
	case "remove":
		return listRemove
	case "index":
		return func(c *Call, self any) (any, error) { return itemsIndex(c, self.(*List).Items, "list") }
	case "count":
		return func(c *Call, self any) (any, error) { return itemsCount(c, self.(*List).Items, "list") }
	case "sort":
		return listSort
	case "reverse":
		return func(c *Call, self any) (any, error) {
			if err := c.none("list.reverse"); err != nil {
				return nil, err
			}
			slices.Reverse(self.(*List).Items)
			return nil, c.f.run.moved(len(self.(*List).Items))
		}
	case "clear":
		return func(c *Call, self any) (any, error) {
			if err := c.none("list.clear"); err != nil {
				return nil, err
			}
			self.(*List).Items = []any{}
			return nil, nil
		}
	case "copy":
		return func(c *Call, self any) (any, error) {
			items := self.(*List).Items
			if err := c.f.run.room(16 * len(items)); err != nil {
				return nil, err
			}
			return &List{slices.Clone(items)}, c.none("list.copy")
		}
	}
	return nil
}

func tupleMethod(name string) method {
	switch name {
	case "index":
		return func(c *Call, self any) (any, error) { return itemsIndex(c, self.(data.Tuple), "tuple") }
	case "count":
		return func(c *Call, self any) (any, error) { return itemsCount(c, self.(data.Tuple), "tuple") }
	}
	return nil
}

func listAppend(c *Call, self any) (any, error) {
	v, err := c.one("list.append")
	if err != nil {
		return nil, err
	}
	l := self.(*List)
	l.Items = append(l.Items, v)
	return nil, c.f.run.room(16)
}

func listExtend(c *Call, self any) (any, error) {
	v, err := c.one("list.extend")
	if err != nil {
		return nil, err
	}
	l := self.(*List)
	var more []any
	if same, ok := v.(*List); ok {
		more = same.Items
	} else if more, err = c.f.run.list(v); err != nil {
		return nil, err
	}
	if err := c.f.run.room(16 * len(more)); err != nil {
		return nil, err
	}
	l.Items = append(l.Items, more...)
	return nil, nil
}

func listInsert(c *Call, self any) (any, error) {
	if err := c.between("list.insert", 2, 2); err != nil {
		return nil, err
	}
	l := self.(*List)
	at, err := indexOf(c.Args[0])
	if err != nil {
		return nil, err
	}
	if at < 0 {
		at += len(l.Items)
	}
	at = min(max(at, 0), len(l.Items))
	if err := c.f.run.moved(len(l.Items) - at); err != nil {
		return nil, err
	}
	l.Items = slices.Insert(l.Items, at, c.Args[1])
	return nil, c.f.run.room(16)
}

func listPop(c *Call, self any) (any, error) {
	if err := c.between("list.pop", 0, 1); err != nil {
		return nil, err
	}
	l := self.(*List)
	var key any = int64(-1)
	if len(c.Args) == 1 {
		if _, err := indexOf(c.Args[0]); err != nil {
			return nil, err
		}
		key = c.Args[0]
	}
	if len(l.Items) == 0 {
		return nil, Raise(IndexError, "pop from empty list")
	}
	at, ok := position(key, len(l.Items))
	if !ok {
		return nil, Raise(IndexError, "pop index out of range")
	}
	v := l.Items[at]
	l.Items = slices.Delete(l.Items, at, at+1)
	return v, c.f.run.moved(len(l.Items) - at)
}

// find returns the position of v in items from start to end, or -1.
func (r *run) find(items []any, v any, start, end int) (int, error) {
	for i := start; i < end && i < len(items); i++ {
		if err := r.step(); err != nil {
			return -1, err
		}
		if same, err := r.equal(items[i], v); err != nil || same {
			return i, err
		}
	}
	return -1, nil
}

func listRemove(c *Call, self any) (any, error) {
	v, err := c.one("list.remove")
	if err != nil {
		return nil, err
	}
	l := self.(*List)
	at, err := c.f.run.find(l.Items, v, 0, len(l.Items))
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, Raise(ValueError, "list.remove(x): x not in list")
	}
	l.Items = slices.Delete(l.Items, at, at+1)
	return nil, c.f.run.moved(len(l.Items) - at)
}

// moved counts the steps for elements of a list that move as one block.
func (r *run) moved(n int) error { return r.take(n / 64) }

func itemsIndex(c *Call, items []any, kind string) (any, error) {
	if err := c.between(kind+".index", 1, 3); err != nil {
		return nil, err
	}
	start, end := 0, len(items)
	for i, at := range []*int{&start, &end} {
		if len(c.Args) > i+1 {
			n, err := sliceIndex(c.Args[i+1])
			if err != nil {
				return nil, err
			}
			if n < 0 {
				n = max(n+len(items), 0)
			}
			*at = n
		}
	}
	at, err := c.f.run.find(items, c.Args[0], start, end)
	if err != nil {
		return nil, err
	}
	if at >= 0 {
		return int64(at), nil
	}
	if kind == "tuple" {
		return nil, Raise(ValueError, "tuple.index(x): x not in tuple")
	}
	text, err := c.f.run.repr(c.Args[0])
	if err != nil {
		return nil, err
	}
	return nil, Raise(ValueError, "%s is not in list", text)
}

func itemsCount(c *Call, items []any, kind string) (any, error) {
	v, err := c.one(kind + ".count")
	if err != nil {
		return nil, err
	}
	n := 0
	for _, e := range items {
		same, err := c.f.run.equal(e, v)
		if err != nil {
			return nil, err
		}
		if same {
			n++
		}
	}
	return int64(n), c.f.run.take(len(items))
}

func listSort(c *Call, self any) (any, error) {
	if len(c.Args) > 0 {
		return nil, Raise(TypeError, "sort() takes no positional arguments")
	}
	args, err := c.clinic("sort", opt("key", nil), opt("reverse", false))
	if err != nil {
		return nil, err
	}
	reverse, err := c.f.run.truth(args[1])
	if err != nil {
		return nil, err
	}
	l := self.(*List)
	keys := l.Items
	if args[0] != nil {
		keys = make([]any, len(l.Items))
		for i, v := range l.Items {
			if keys[i], err = c.Invoke(args[0], []any{v}, nil); err != nil {
				return nil, err
			}
		}
	}
	sorted, err := c.f.run.sorted(l.Items, keys, reverse)
	if err != nil {
		return nil, err
	}
	l.Items = sorted
	return nil, nil
}

// sorted returns items in the order of their keys; equal ones keep their order.
func (r *run) sorted(items, keys []any, reverse bool) ([]any, error) {
	if err := r.room(32 * len(items)); err != nil {
		return nil, err
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	if reverse {
		slices.Reverse(order)
	}
	var failed error
	slices.SortStableFunc(order, func(a, b int) int {
		if failed != nil {
			return 0
		}
		less, err := r.compare("<", keys[a], keys[b])
		if err == nil {
			err = r.step()
		}
		if err != nil {
			failed = err
		}
		if less {
			return -1
		}
		return 1
	})
	if failed != nil {
		return nil, failed
	}
	if reverse {
		slices.Reverse(order)
	}
	out := make([]any, len(items))
	for i, at := range order {
		out[i] = items[at]
	}
	return out, nil
}
