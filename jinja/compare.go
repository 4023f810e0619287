package jinja

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"reflect"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// equal is Python's ==.
func (r *run) equal(a, b any) (bool, error) { return r.equalAt(a, b, 0) }

func (r *run) equalAt(a, b any, depth int) (bool, error) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x == y, nil
		}
	case int64:
		if y, ok := b.(int64); ok {
			return x == y, nil
		}
	case nil:
		if _, ok := b.(*Undefined); !ok {
			return b == nil, nil
		}
	}
	if depth > maxDepth {
		return false, Raise(PythonError, "maximum recursion depth exceeded in comparison")
	}
	return r.equalOther(a, b, depth)
}

func (r *run) equalOther(a, b any, depth int) (bool, error) {
	if same, known, err := equalUndefined(a, b); known {
		return same, err
	}
	if x, ok := textOf(a); ok {
		y, ok := textOf(b)
		return ok && x == y, nil
	}
	if isNumber(a) {
		return isNumber(b) && compareNumbers(a, b) == 0, nil
	}
	switch x := a.(type) {
	case *List:
		y, ok := b.(*List)
		if !ok {
			return false, nil
		}
		if x == y {
			return true, nil
		}
		return r.equalItems(x.Items, y.Items, depth)
	case data.Tuple:
		y, ok := b.(data.Tuple)
		if !ok {
			return false, nil
		}
		return r.equalItems(x, y, depth)
	case *data.Map:
		y, ok := b.(*data.Map)
		if !ok || x == y {
			return ok, nil
		}
		return r.equalDicts(x, y, depth)
	}
	return equalRare(a, b), nil
}

// equalUndefined compares if one side is undefined: a strict undefined fails, the others equal
// their like.
func equalUndefined(a, b any) (same, known bool, err error) {
	x, okA := a.(*Undefined)
	y, okB := b.(*Undefined)
	switch {
	case okA:
		return okB, true, x.strict()
	case okB:
		return false, true, y.strict()
	}
	return false, false, nil
}

func equalRare(a, b any) bool {
	switch x := a.(type) {
	case []byte:
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	case *rangeValue:
		y, ok := b.(*rangeValue)
		return ok && x.equal(y)
	case *set:
		y, ok := b.(*set)
		return ok && data.Equal(x.m, y.m)
	case *dictView:
		y, ok := b.(*dictView)
		return ok && (x == y || x.kind != "values" && x.m == y.m && x.kind == y.kind)
	case time.Time:
		y, ok := b.(time.Time)
		return ok && x.Equal(y)
	}
	if data.Plain(a) {
		return data.Plain(b) && data.Equal(a, b)
	}
	switch a.(type) {
	case *macro, *namespace, *loopContext, *builtin, *module, *cycler, *joiner, *selfRef, Iterator:
		return a == b
	}
	return sameable(a) && sameable(b) && a == b
}

func (r *run) equalItems(a, b []any, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if err := r.step(); err != nil {
			return false, err
		}
		if same, err := r.equalAt(a[i], b[i], depth+1); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (r *run) equalDicts(a, b *data.Map, depth int) (bool, error) {
	if a.Len() != b.Len() {
		return false, nil
	}
	for k, v := range a.All() {
		if err := r.step(); err != nil {
			return false, err
		}
		w, ok := b.Get(k)
		if !ok {
			return false, nil
		}
		if same, err := r.equalAt(v, w, depth+1); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func isNumber(v any) bool {
	switch v.(type) {
	case bool, int64, float64, *big.Int:
		return true
	}
	return false
}

// compareNumbers compares exactly, whatever the types; the result is 2 if NaN makes them unordered.
func compareNumbers(a, b any) int {
	if x, ok := smallInt(a); ok {
		if y, ok := smallInt(b); ok {
			return cmp.Compare(x, y)
		}
	}
	x, okA := a.(float64)
	y, okB := b.(float64)
	switch {
	case okA && okB:
		return compareFloats(x, y)
	case okA:
		return compareFloatInt(x, bigOf(b))
	case okB:
		return -compareFloatInt(y, bigOf(a))
	}
	return bigOf(a).Cmp(bigOf(b))
}

func compareFloats(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	}
	return 2
}

func compareFloatInt(f float64, n *big.Int) int {
	switch {
	case math.IsNaN(f):
		return 2
	case math.IsInf(f, 1):
		return 1
	case math.IsInf(f, -1):
		return -1
	}
	return new(big.Float).SetFloat64(f).Cmp(new(big.Float).SetInt(n))
}

// compare is one of < <= > >=.
func (r *run) compare(op tokenKind, a, b any) (bool, error) {
	if x, ok := a.(*Undefined); ok {
		return false, x.fail()
	}
	if y, ok := b.(*Undefined); ok {
		return false, y.fail()
	}
	if isNumber(a) && isNumber(b) {
		n := compareNumbers(a, b)
		return n != 2 && n != -2 && ordered(op, n), nil
	}
	if x, ok := textOf(a); ok {
		if y, ok := textOf(b); ok {
			return ordered(op, strings.Compare(x, y)), nil
		}
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			return r.compareItems(op, x.Items, y.Items)
		}
	case data.Tuple:
		if y, ok := b.(data.Tuple); ok {
			return r.compareItems(op, x, y)
		}
	case *set:
		if y, ok := b.(*set); ok {
			return x.compare(op, y), nil
		}
	case []byte:
		if y, ok := b.([]byte); ok {
			return ordered(op, bytes.Compare(x, y)), nil
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return ordered(op, x.Compare(y)), nil
		}
	}
	return false, Raise(TypeError, "'%s' not supported between instances of '%s' and '%s'",
		string(op), typeName(a), typeName(b))
}

func ordered(op tokenKind, n int) bool {
	switch op {
	case "<":
		return n < 0
	case "<=":
		return n <= 0
	case ">":
		return n > 0
	}
	return n >= 0
}

func (r *run) compareItems(op tokenKind, a, b []any) (bool, error) {
	for i := range min(len(a), len(b)) {
		if err := r.step(); err != nil {
			return false, err
		}
		same, err := r.equal(a[i], b[i])
		if err != nil {
			return false, err
		}
		if !same {
			return r.compare(op, a[i], b[i])
		}
	}
	return ordered(op, cmp.Compare(len(a), len(b))), nil
}

// contains is "key in v".
func (r *run) contains(v, key any) (bool, error) {
	switch v := v.(type) {
	case *data.Map:
		k, err := lookupKey(key)
		return err == nil && v.Has(k), err
	case *List:
		return r.among(v.Items, key)
	case data.Tuple:
		return r.among(v, key)
	case string, Markup:
		text, _ := textOf(v)
		part, ok := textOf(key)
		if err := r.scanned(v); err != nil {
			return false, err
		}
		if !ok {
			return false, Raise(TypeError, "'in <string>' requires string as left operand, not %s",
				typeName(key))
		}
		return strings.Contains(text, part), nil
	case *Undefined:
		return false, v.strict()
	case Container:
		return v.Contains(key)
	}
	it, err := r.iterate(v)
	if err != nil {
		if isKind(err, TypeError) {
			err = Raise(TypeError, "argument of type '%s' is not iterable", typeName(v))
		}
		return false, err
	}
	return r.search(it, key)
}

func (r *run) among(items []any, key any) (bool, error) {
	for _, e := range items {
		if same, err := r.equal(e, key); err != nil || same {
			return same, err
		}
	}
	return false, r.take(len(items))
}

func (r *run) search(it Iterator, key any) (bool, error) {
	for {
		v, ok, err := it.Next()
		if err != nil || !ok {
			return false, err
		}
		if err := r.step(); err != nil {
			return false, err
		}
		if same, err := r.equal(v, key); err != nil || same {
			return same, err
		}
	}
}

// identical is Python's "is".
func identical(a, b any) bool {
	switch x := a.(type) {
	case data.Tuple:
		y, ok := b.(data.Tuple)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	case []byte:
		y, ok := b.([]byte)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	case *big.Int:
		y, ok := b.(*big.Int)
		return ok && x == y
	case float64:
		y, ok := b.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	}
	return sameable(a) && sameable(b) && a == b
}

// hashKey returns the form of a key in dicts, or the error for a value that cannot be a key.
func hashKey(v any) (any, error) {
	switch v := v.(type) {
	case string, int64, bool, nil, float64:
		return v, nil
	case Markup:
		return string(v), nil
	case *Undefined:
		return v, v.strict()
	case data.Tuple:
		for _, e := range v {
			if _, err := hashKey(e); err != nil {
				return nil, err
			}
		}
		return v, nil
	case *List, *data.Map, *set, *dictView:
		return nil, Raise(TypeError, "unhashable type: '%s'", typeName(v))
	}
	if data.Plain(v) && data.Hashable(v) {
		return v, nil
	}
	return nil, Raise(TypeError, "unhashable type: '%s'", typeName(v))
}

// lookupKey is hashKey for lookups: objects that cannot be keys here are simply not found.
func lookupKey(v any) (any, error) {
	k, err := hashKey(v)
	if err != nil {
		switch v.(type) {
		case *rangeValue, *macro, *builtin, *class, *boundMethod, *module, *cycler, *joiner,
			*namespace, *loopContext, Iterator:
			return missing{}, nil
		}
	}
	return k, err
}

// sameable reports whether Go's == can compare v with another value.
func sameable(v any) bool { return v == nil || reflect.TypeOf(v).Comparable() }
