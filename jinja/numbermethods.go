package jinja

import (
	"math"
	"math/big"
	"strings"

	"github.com/brineproject/brine/data"
)

// numberMethod returns a method of int, bool or float.
func numberMethod(v any, name string) method {
	_, float := v.(float64)
	switch {
	case name == "conjugate":
		return func(c *Call, self any) (any, error) { return self, c.none("conjugate") }
	case name == "as_integer_ratio":
		return integerRatio
	case float && name == "is_integer":
		return func(c *Call, self any) (any, error) {
			f := self.(float64)
			return !math.IsInf(f, 0) && f == math.Trunc(f), c.none("float.is_integer")
		}
	case !float && name == "bit_length":
		return func(c *Call, self any) (any, error) { return int64(bigOf(self).BitLen()), c.none("int.bit_length") }
	case !float && name == "bit_count":
		return func(c *Call, self any) (any, error) {
			return int64(strings.Count(new(big.Int).Abs(bigOf(self)).Text(2), "1")),
				c.none("int.bit_count")
		}
	}
	return nil
}

func integerRatio(c *Call, self any) (any, error) {
	f, ok := self.(float64)
	if !ok {
		return data.Tuple{normal(bigOf(self)), int64(1)}, c.none("int.as_integer_ratio")
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, Raise(OverflowError, "cannot convert Infinity to integer ratio")
	}
	q := new(big.Rat).SetFloat64(f)
	return data.Tuple{normal(q.Num()), normal(q.Denom())}, nil
}

func numberAttr(v any, name string) (any, bool) {
	f, float := v.(float64)
	switch {
	case name == "real" && float:
		return f, true
	case name == "imag" && float:
		return 0.0, true
	case name == "real" || name == "numerator" && !float:
		return normal(bigOf(v)), true
	case name == "imag":
		return int64(0), true
	case name == "denominator" && !float:
		return int64(1), true
	}
	return nil, false
}

// bytesMethod returns a method of bytes.
func bytesMethod(name string) method {
	switch name {
	case "decode":
		return func(c *Call, self any) (any, error) {
			_, err := c.clinic("decode", opt("encoding", "utf-8"), opt("errors", "strict"))
			return string(self.([]byte)), err
		}
	case "hex":
		return func(c *Call, self any) (any, error) {
			const digits = "0123456789abcdef"
			var b strings.Builder
			for _, x := range self.([]byte) {
				b.WriteByte(digits[x>>4])
				b.WriteByte(digits[x&15])
			}
			return b.String(), c.none("bytes.hex")
		}
	}
	return nil
}
