package output

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// sortedKeys returns the keys of m as Python's sorted() orders them. ok is false if sorted() would
// raise TypeError because two keys cannot be compared; the keys are then in the order of m.
func sortedKeys(m *data.Map) (keys []any, ok bool) {
	if keys, ok = sorted(m.Keys()); !ok {
		return m.Keys(), false
	}
	return keys, true
}

// sorted sorts keys in place. ok is false, and the order undefined, if Python cannot compare them.
func sorted(keys []any) (_ []any, ok bool) {
	ok = true
	slices.SortStableFunc(keys, func(a, b any) int {
		c, comparable := compare(a, b)
		ok = ok && comparable
		return c
	})
	return keys, ok
}

// compare orders two keys as Python's < does; ok is false if that raises TypeError.
func compare(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), true
		}
	case []byte:
		if b, ok := b.([]byte); ok {
			return bytes.Compare(a, b), true
		}
	case time.Time:
		if b, ok := b.(time.Time); ok {
			return a.Compare(b), true
		}
	case data.Tuple:
		if b, ok := b.(data.Tuple); ok {
			return compareTuples(a, b)
		}
	default:
		return compareNumbers(a, b)
	}
	return 0, false
}

func compareTuples(a, b data.Tuple) (int, bool) {
	for i := range min(len(a), len(b)) {
		if !data.Equal(a[i], b[i]) {
			return compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b)), true
}

func compareNumbers(a, b any) (int, bool) {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), true
		}
	}
	x, y := number(a), number(b)
	if x == nil || y == nil {
		return 0, isNaN(a) && isNumber(b) || isNaN(b) && isNumber(a)
	}
	return x.Cmp(y), true
}

func isNaN(v any) bool {
	f, ok := v.(float64)
	return ok && math.IsNaN(f)
}

func isNumber(v any) bool { return number(v) != nil || isNaN(v) }

// number returns v exactly, or nil if it is NaN or not a number.
func number(v any) *big.Float {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewFloat(1)
		}
		return new(big.Float)
	case int64:
		return new(big.Float).SetInt64(v)
	case int:
		return new(big.Float).SetInt64(int64(v))
	case *big.Int:
		return new(big.Float).SetInt(v)
	case float64:
		if !math.IsNaN(v) {
			return big.NewFloat(v)
		}
	}
	return nil
}
