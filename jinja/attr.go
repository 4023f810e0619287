package jinja

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// A method of a built-in type.
type method func(c *Call, self any) (any, error)

// methodOf returns the method of a value by its name, or nil.
func methodOf(v any, name string) method {
	if name == "" || name[0] == '_' {
		return nil
	}
	switch v.(type) {
	case *data.Map:
		return dictMethod(name)
	case string, Markup:
		return textMethod(name)
	case *List:
		return listMethod(name)
	case data.Tuple:
		return tupleMethod(name)
	case int64, float64, bool, *big.Int:
		return numberMethod(v, name)
	case *set:
		return setMethod(name)
	case []byte:
		return bytesMethod(name)
	}
	return nil
}

// getattr is value.name of the sandbox (SandboxedEnvironment.getattr): the attribute first, then
// the item.
func (r *run) getattr(v any, name string) (any, error) {
	if u, ok := v.(*Undefined); ok {
		return u.member(name)
	}
	attr, ok, err := r.attribute(v, name)
	if ok || err != nil {
		return attr, err
	}
	item, ok, err := r.item(v, name)
	if err != nil && !isKind(err, TypeError, KeyError, IndexError) {
		return nil, err
	}
	if ok && err == nil {
		return item, nil
	}
	return r.noMember(v, name), nil
}

// member returns an attribute or item of an undefined value: an error, unless the value is
// chainable.
func (u *Undefined) member(name any) (any, error) {
	if u.lenience == Chainable {
		return u, nil
	}
	if s, ok := name.(string); ok && s == "__class__" {
		c := *u
		c.hint, c.kind = unsafeText("__class__", u), SecurityError
		return &c, nil
	}
	return nil, u.fail()
}

// getitem is value[key] of the sandbox: the item first, then the attribute.
func (r *run) getitem(v, key any) (any, error) {
	if u, ok := v.(*Undefined); ok {
		return u.member(key)
	}
	item, ok, err := r.item(v, key)
	if ok && err == nil {
		return item, nil
	}
	if err != nil && !isKind(err, TypeError, KeyError, IndexError) {
		return nil, err
	}
	if name, isText := textOf(key); isText {
		attr, ok, err := r.attribute(v, name)
		if ok || err != nil {
			return attr, err
		}
	}
	return r.noMember(v, key), nil
}

// attribute is Python's getattr. An existing attribute whose name begins with an underscore gives a
// value that raises SecurityError.
func (r *run) attribute(v any, name string) (any, bool, error) {
	if strings.HasPrefix(name, "_") {
		if dunder(v, name) {
			return r.unsafe(v, name), true, nil
		}
		return nil, false, nil
	}
	if m := methodOf(v, name); m != nil {
		return &boundMethod{v, name, m}, true, nil
	}
	switch v := v.(type) {
	case int64, float64, bool, *big.Int:
		attr, ok := numberAttr(v, name)
		return attr, ok, nil
	case Attributer:
		return v.Attr(name)
	}
	return nil, false, nil
}

func unsafeText(name string, v any) string {
	return "access to attribute " + quote(name) + " of " + quote(typeName(v)) + " object is unsafe."
}

func (r *run) unsafe(v any, name string) any {
	return r.undefined(Undefined{hint: unsafeText(name, v), name: name, obj: v,
		kind: SecurityError})
}

// dunder reports whether values have an attribute that begins with an underscore.
func dunder(v any, name string) bool {
	switch name {
	case "__class__", "__doc__", "__init__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__",
		"__ge__", "__hash__", "__repr__", "__str__", "__format__", "__getattribute__",
		"__setattr__", "__delattr__", "__dir__", "__new__",
		"__reduce__", "__reduce_ex__", "__sizeof__", "__subclasshook__", "__init_subclass__",
		"__getstate__":
		_, ns := v.(*namespace)
		return !ns || name == "__class__"
	case "__len__", "__contains__", "__iter__", "__getitem__":
		_, ok := lengthOf(v)
		return ok
	case "__add__", "__mul__", "__rmul__":
		return isNumber(v) || dunderSequence(v)
	case "__setitem__", "__delitem__":
		switch v.(type) {
		case *List, *data.Map:
			return true
		}
	case "__dict__", "__module__", "__weakref__":
		switch v.(type) {
		case *macro, *module, *loopContext, *cycler, *joiner:
			return true
		}
	case "__call__", "__name__", "__qualname__":
		return isCallable(v)
	case "__self__":
		return typeName(v) == "builtin_function_or_method"
	case "__globals__", "__code__", "__closure__", "__defaults__", "__kwdefaults__",
		"__annotations__":
		return typeName(v) == "function"
	case "__int__", "__float__", "__bool__", "__abs__", "__neg__", "__sub__":
		return isNumber(v)
	}
	return false
}

func dunderSequence(v any) bool {
	switch v.(type) {
	case *List, data.Tuple, string, Markup:
		return true
	}
	return false
}

// item is v[key].
func (r *run) item(v, key any) (any, bool, error) {
	switch v := v.(type) {
	case *data.Map:
		k, err := hashKey(key)
		if err != nil {
			return nil, false, err
		}
		item, ok := v.Get(k)
		return item, ok, nil
	case *List:
		i, ok := position(key, len(v.Items))
		if !ok {
			return nil, false, nil
		}
		return v.Items[i], true, nil
	case data.Tuple:
		i, ok := position(key, len(v))
		if !ok {
			return nil, false, nil
		}
		return v[i], true, nil
	case string:
		c, ok := characterAt(v, key)
		return c, ok, nil
	case Markup:
		c, ok := characterAt(string(v), key)
		return Markup(c), ok, nil
	case Itemer:
		return v.Item(key)
	case []byte:
		i, ok := position(key, len(v))
		if !ok {
			return nil, false, nil
		}
		return int64(v[i]), true, nil
	}
	return nil, false, nil
}

// position returns the index that key refers to in a sequence of n elements.
func position(key any, n int) (int, bool) {
	i, ok := smallInt(key)
	if !ok {
		return 0, false
	}
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

func characterAt(s string, key any) (string, bool) {
	if isASCII(s) {
		i, ok := position(key, len(s))
		if !ok {
			return "", false
		}
		return s[i : i+1], true
	}
	i, ok := position(key, runeCount(s))
	if !ok {
		return "", false
	}
	start := runeIndex(s, i)
	_, size := utf8.DecodeRuneInString(s[start:])
	return s[start : start+size], true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// runeIndex returns the byte offset of character n.
func runeIndex(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// slice is v[start:stop:step].
func (r *run) slice(v any, bounds [3]any) (any, error) {
	n, ok := lengthOf(v)
	switch v := v.(type) {
	case *Undefined:
		if v.lenience == Chainable {
			return v, nil
		}
		return nil, v.fail()
	case *data.Map:
		return nil, Raise(TypeError, "unhashable type: 'slice'")
	case string, Markup, *List, data.Tuple, []byte, *rangeValue:
	default:
		ok = false
	}
	if !ok {
		return nil, Raise(TypeError, "'%s' object is not subscriptable", typeName(v))
	}
	start, stop, step, count, err := sliceBounds(bounds, n)
	if err != nil {
		return nil, err
	}
	if rng, ok := v.(*rangeValue); ok {
		return rng.slice(start, stop, step, count), nil
	}
	if err := r.room(16 * count); err != nil {
		return nil, err
	}
	return pick(v, start, step, count), nil
}

func pick(v any, start, step, count int) any {
	switch v := v.(type) {
	case *List:
		return &List{pickItems(v.Items, start, step, count)}
	case data.Tuple:
		return data.Tuple(pickItems(v, start, step, count))
	case Markup:
		return Markup(pickText(string(v), start, step, count))
	case []byte:
		return []byte(pickText(string(v), start, step, count))
	}
	return pickText(v.(string), start, step, count)
}

func pickItems(items []any, start, step, count int) []any {
	out := make([]any, count)
	for i := range out {
		out[i] = items[start+i*step]
	}
	return out
}

func pickText(s string, start, step, count int) string {
	if isASCII(s) {
		if step == 1 {
			return s[start : start+count]
		}
		b := make([]byte, count)
		for i := range b {
			b[i] = s[start+i*step]
		}
		return string(b)
	}
	runes := []rune(s)
	out := make([]rune, count)
	for i := range out {
		out[i] = runes[start+i*step]
	}
	return string(out)
}

// sliceBounds returns the first index, the end index, the step and the count of a slice of a
// sequence of n elements (PySlice_AdjustIndices).
func sliceBounds(bounds [3]any, n int) (start, stop, step, count int, err error) {
	step = 1
	if bounds[2] != nil {
		if step, err = sliceIndex(bounds[2]); err != nil {
			return 0, 0, 0, 0, err
		}
		if step == 0 {
			return 0, 0, 0, 0, Raise(ValueError, "slice step cannot be zero")
		}
	}
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	first, last := low, high
	if step < 0 {
		first, last = high, low
	}
	for i, at := range []*int{&first, &last} {
		if bounds[i] == nil {
			continue
		}
		if *at, err = sliceIndex(bounds[i]); err != nil {
			return 0, 0, 0, 0, err
		}
		if *at < 0 {
			*at += n
		}
		*at = min(max(*at, low), high)
	}
	switch {
	case step > 0 && first < last:
		count = (last-first-1)/step + 1
	case step < 0 && last < first:
		count = (first-last-1)/(-step) + 1
	}
	return first, last, step, count, nil
}

// sliceIndex reads a bound and clamps it.
func sliceIndex(v any) (int, error) {
	const far = math.MaxInt / 4
	if u, ok := v.(*Undefined); ok && u.lenience == Strict {
		return 0, Raise(TypeError, "slice indices must be integers or None or have an __index__ method")
	}
	if n, ok := smallInt(v); ok {
		return int(min(max(n, -far), far)), nil
	}
	if b, ok := v.(*big.Int); ok {
		return b.Sign() * far, nil
	}
	return 0, Raise(TypeError, "slice indices must be integers or None or have an __index__ method")
}
