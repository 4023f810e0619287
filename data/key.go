package data

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Hashable reports whether v can be a key of a Map.
func Hashable(v any) bool {
	switch v := v.(type) {
	case []any, Set, *Map:
		return false
	case Tuple:
		return !slices.ContainsFunc(v, func(e any) bool { return !Hashable(e) })
	case Const:
		return Hashable(v.Value)
	}
	return true
}

// Forms of keys that Go's == cannot compare, or compares differently from Python.
type (
	bytesKey string
	tupleKey string
	bigKey   string
	textKey  struct{ kind, text string }
	timeKey  struct {
		second int64
		nanos  int
	}
	nanKey struct{ p *float64 }
)

// normalise maps keys that are equal in Python to one comparable Go value.
func normalise(key any) any {
	switch k := key.(type) {
	case string, nil, int64:
		return k
	case int:
		return int64(k)
	case bool:
		if k {
			return int64(1)
		}
		return int64(0)
	case float64:
		return normaliseFloat(k)
	case []byte:
		return bytesKey(k)
	case *big.Int:
		return normaliseBig(k)
	case Tuple:
		return normaliseTuple(k)
	case time.Time:
		return timeKey{k.Unix(), k.Nanosecond()}
	case []any, Set, *Map:
		panic("data: unhashable key")
	}
	return textKey{fmt.Sprintf("%T", key), Repr(key)}
}

func normaliseFloat(f float64) any {
	switch {
	case math.IsNaN(f):
		return nanKey{&f} // never equal to another
	case f != math.Trunc(f) || math.IsInf(f, 0):
		return f
	case math.Abs(f) < 1<<62:
		return int64(f)
	}
	n, _ := big.NewFloat(f).Int(nil)
	return normaliseBig(n)
}

func normaliseBig(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return bigKey(n.String())
}

func normaliseTuple(t Tuple) any {
	var b strings.Builder
	for _, e := range t {
		n := normalise(e)
		s := fmt.Sprint(n)
		fmt.Fprintf(&b, "%T %d %s,", n, len(s), s)
	}
	return tupleKey(b.String())
}
