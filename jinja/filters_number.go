package jinja

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

func filterAbs(c *Call) (any, error) {
	v, err := c.one("abs")
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case float64:
		return math.Abs(v), nil
	case bool, int64, *big.Int:
		return normal(new(big.Int).Abs(bigOf(v))), nil
	}
	return nil, Raise(TypeError, "bad operand type for abs(): '%s'", typeName(v))
}

func truncated(f float64) *big.Int {
	n, _ := big.NewFloat(f).Int(nil)
	return n
}

// toFloat is Python's float().
func (r *run) toFloat(v any) (float64, error) {
	if isNumber(v) {
		return floatOf(v)
	}
	if u, ok := v.(*Undefined); ok {
		return 0, u.fail()
	}
	s, ok := textOf(v)
	if !ok {
		return 0, Raise(TypeError, "float() argument must be a string or a real number, not '%s'",
			typeName(v))
	}
	text := strings.TrimFunc(s, isSpace)
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	lowered := strings.ToLower(strings.TrimLeft(text, "+-"))
	bad := strings.ContainsAny(lowered, "xp") || strings.Contains(text, "__") ||
		strings.HasPrefix(lowered, "_") || strings.HasSuffix(lowered, "_") ||
		strings.Contains(lowered, "_.") || strings.Contains(lowered, "._") ||
		strings.Contains(lowered, "e_") || strings.Contains(lowered, "_e")
	if bad || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, Raise(ValueError, "could not convert string to float: %s", reprOf(v))
	}
	return f, nil
}

// toInt is Python's int().
func (r *run) toInt(v any, base any) (any, error) {
	switch v := v.(type) {
	case bool, int64, *big.Int:
		return normal(bigOf(v)), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, notFinite(v)
		}
		return normal(truncated(v)), nil
	case *Undefined:
		return nil, v.fail()
	case []byte:
		return parseInt(string(v), 10)
	}
	s, ok := textOf(v)
	if !ok {
		return nil, Raise(TypeError, "int() argument must be a string, a bytes-like object or a real number, not '%s'", typeName(v))
	}
	b, err := indexOf(base)
	if err != nil {
		return nil, err
	}
	return parseInt(s, b)
}

// parseInt parses an integer as Python's int(s, base) does.
func parseInt(s string, base int) (any, error) {
	if base != 0 && (base < 2 || base > 36) {
		return nil, Raise(ValueError, "int() base must be >= 2 and <= 36, or 0")
	}
	bad := Raise(ValueError, "invalid literal for int() with base %d: %s", base, quote(s))
	t := strings.TrimFunc(s, isSpace)
	sign := ""
	if t != "" && (t[0] == '-' || t[0] == '+') {
		sign, t = t[:1], t[1:]
	}
	t, base, ok := cutPrefix(t, base)
	if !ok || strings.HasSuffix(t, "_") || strings.HasPrefix(t, "_") || strings.Contains(t, "__") {
		return nil, bad
	}
	t = strings.ReplaceAll(t, "_", "")
	if t == "" || t[0] == '-' || t[0] == '+' {
		return nil, bad
	}
	if len(t) > maxDigits && base&(base-1) != 0 {
		return nil, Raise(ValueError, "Exceeds the limit (%d digits) for integer string conversion: value has %d digits; use sys.set_int_max_str_digits() to increase the limit", maxDigits, len(t))
	}
	n, ok := new(big.Int).SetString(sign+t, base)
	if !ok || base == 10 && strings.Trim(t, decimal) != "" {
		return nil, bad
	}
	return normal(n), nil
}

// cutPrefix removes 0x, 0o and 0b if the base allows them; base 0 is determined by them.
func cutPrefix(t string, base int) (string, int, bool) {
	if len(t) > 1 && t[0] == '0' {
		of := map[byte]int{'x': 16, 'o': 8, 'b': 2}[t[1]|0x20]
		if of != 0 && (base == of || base == 0) {
			return strings.TrimPrefix(t[2:], "_"), of, true
		}
	}
	if base != 0 {
		return t, base, true
	}
	return t, 10, !strings.HasPrefix(t, "0") || strings.Trim(t, "0_") == ""
}

func filterInt(c *Call) (any, error) {
	args, err := c.bind(takes("do_int", 0, need("value"), opt("default", int64(0)),
		opt("base", int64(10))))
	if err != nil {
		return nil, err
	}
	n, err := c.f.run.toInt(args[0], args[2])
	if err == nil || !isKind(err, TypeError, ValueError) {
		return n, err
	}
	f, err := c.f.run.toFloat(args[0])
	if err == nil {
		n, err = c.f.run.toInt(f, int64(10))
	}
	if err == nil || !isKind(err, TypeError, ValueError) {
		return n, err
	}
	return args[1], nil
}

func filterFloat(c *Call) (any, error) {
	args, err := c.bind(takes("do_float", 0, need("value"), opt("default", 0.0)))
	if err != nil {
		return nil, err
	}
	f, err := c.f.run.toFloat(args[0])
	if isKind(err, TypeError, ValueError) {
		return args[1], nil
	}
	return f, err
}

func filterRound(c *Call) (any, error) {
	args, err := c.bind(takes("do_round", 0, need("value"), opt("precision", int64(0)),
		opt("method", "common")))
	if err != nil {
		return nil, err
	}
	method, _ := textOf(args[2])
	switch method {
	case "common":
		return c.f.run.round(args[0], args[1])
	case "ceil", "floor":
	default:
		return nil, Raise(FilterArgumentError, "method must be common, ceil or floor")
	}
	scale, err := c.f.run.binary("**", int64(10), args[1])
	if err != nil {
		return nil, err
	}
	scaled, err := c.f.run.binary("*", args[0], scale)
	if err != nil {
		return nil, err
	}
	if f, ok := scaled.(float64); ok {
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, notFinite(f)
		}
		if method == "ceil" {
			f = math.Ceil(f)
		} else {
			f = math.Floor(f)
		}
		scaled = normal(truncated(f))
	} else if !isNumber(scaled) {
		return nil, Raise(TypeError, "must be real number, not %s", typeName(scaled))
	}
	return c.f.run.binary("/", scaled, scale)
}

// round is Python's round(value, digits).
func (r *run) round(v, digits any) (any, error) {
	if u, ok := v.(*Undefined); ok {
		return nil, Raise(TypeError, "type %s doesn't define __round__ method", typeName(u))
	}
	if !isNumber(v) {
		return nil, Raise(TypeError, "type %s doesn't define __round__ method", typeName(v))
	}
	f, float := v.(float64)
	if digits == nil {
		if !float {
			return normal(bigOf(v)), nil
		}
		return r.toInt(math.RoundToEven(f), int64(10))
	}
	n, err := indexOf(digits)
	if err != nil {
		return nil, err
	}
	if !float {
		return roundInt(bigOf(v), n), nil
	}
	return roundFloat(f, n), nil
}

func roundInt(n *big.Int, digits int) any {
	if digits >= 0 {
		return normal(n)
	}
	if digits < -10_000 {
		return int64(0)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	half := new(big.Int).Rsh(scale, 1)
	q, m := new(big.Int).DivMod(n, scale, new(big.Int))
	if c := m.Cmp(half); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return normal(q.Mul(q, scale))
}

// roundFloat rounds the exact value, halves to even digits.
func roundFloat(f float64, digits int) float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) || digits > 323 {
		return f
	}
	if digits < -308 {
		return math.Copysign(0, f)
	}
	if digits >= 0 {
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		return out
	}
	rounded := roundInt(new(big.Int).Set(truncated(f)), digits)
	if frac := f - math.Trunc(f); frac != 0 {
		rounded = roundUneven(f, digits)
	}
	out, _ := floatOf(rounded)
	return math.Copysign(out, f)
}

// roundUneven rounds a number with a fraction, which decides if the whole part is exactly on a
// half.
func roundUneven(f float64, digits int) any {
	n := truncated(f)
	n.Mul(n, big.NewInt(2))
	if f > 0 {
		n.Add(n, big.NewInt(1))
	} else {
		n.Sub(n, big.NewInt(1))
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	double := new(big.Int).Mul(scale, big.NewInt(2))
	q, m := new(big.Int).DivMod(n, double, new(big.Int))
	if m.Cmp(scale) > 0 {
		q.Add(q, big.NewInt(1))
	}
	return normal(q.Mul(q, scale))
}
