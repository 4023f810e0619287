package jinja

import (
	"math"
	"math/big"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// maxBits limits the size of integers that operators produce.
const maxBits = 1 << 20

// smallInt is a bool or an integer of 64 bits.
func smallInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// isInt reports whether v is an int or bool.
func isInt(v any) bool {
	_, ok := smallInt(v)
	if !ok {
		_, ok = v.(*big.Int)
	}
	return ok
}

// bigOf returns an int or bool as a big number.
func bigOf(v any) *big.Int {
	if n, ok := v.(*big.Int); ok {
		return n
	}
	n, _ := smallInt(v)
	return big.NewInt(n)
}

// floatOf returns a number as a float.
func floatOf(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		if math.IsInf(f, 0) {
			return 0, Raise(OverflowError, "int too large to convert to float")
		}
		return f, nil
	}
	n, _ := smallInt(v)
	return float64(n), nil
}

func (r *run) binary(op tokenKind, a, b any) (any, error) {
	if x, ok := a.(*Undefined); ok {
		return nil, x.fail()
	}
	if y, ok := b.(*Undefined); ok && !formats(op, a) {
		return nil, y.fail()
	}
	if isNumber(a) && isNumber(b) {
		return r.numbers(op, a, b)
	}
	switch op {
	case "+":
		return r.add(a, b)
	case "*":
		return r.repeatEither(a, b)
	case "%":
		if s, ok := textOf(a); ok {
			return r.percent(s, a, b)
		}
	case "-":
		return r.subtract(a, b)
	}
	return nil, unsupported(op, a, b)
}

// formats reports whether the operation is text % value, which accepts an undefined value like any
// other.
func formats(op tokenKind, a any) bool {
	_, ok := textOf(a)
	return ok && op == "%"
}

func unsupported(op tokenKind, a, b any) error {
	name := string(op)
	if op == "**" {
		name = "** or pow()"
	}
	return Raise(TypeError, "unsupported operand type(s) for %s: '%s' and '%s'", name,
		typeName(a), typeName(b))
}

func (r *run) add(a, b any) (any, error) {
	switch x := a.(type) {
	case string, Markup:
		return r.addText(a, b)
	case *List:
		y, ok := b.(*List)
		if !ok {
			return nil, Raise(TypeError, `can only concatenate list (not "%s") to list`,
				typeName(b))
		}
		if err := r.room(16 * (len(x.Items) + len(y.Items))); err != nil {
			return nil, err
		}
		return &List{append(append(make([]any, 0, len(x.Items)+len(y.Items)), x.Items...),
			y.Items...)}, nil
	case data.Tuple:
		y, ok := b.(data.Tuple)
		if !ok {
			return nil, Raise(TypeError, `can only concatenate tuple (not "%s") to tuple`,
				typeName(b))
		}
		if err := r.room(16 * (len(x) + len(y))); err != nil {
			return nil, err
		}
		return append(append(make(data.Tuple, 0, len(x)+len(y)), x...), y...), nil
	case []byte:
		if y, ok := b.([]byte); ok {
			return append(append([]byte{}, x...), y...), r.room(len(x) + len(y))
		}
		return nil, Raise(TypeError, "can't concat %s to bytes", typeName(b))
	}
	return nil, unsupported("+", a, b)
}

func (r *run) addText(a, b any) (any, error) {
	x, _ := textOf(a)
	y, ok := textOf(b)
	if !ok {
		if _, markup := a.(Markup); markup {
			return nil, unsupported("+", a, b)
		}
		return nil, Raise(TypeError, `can only concatenate str (not "%s") to str`, typeName(b))
	}
	if err := r.room(len(x) + len(y)); err != nil {
		return nil, err
	}
	_, safeA := a.(Markup)
	_, safeB := b.(Markup)
	switch {
	case safeA && !safeB:
		return Markup(x + escapeHTML(y)), nil
	case safeB && !safeA:
		return Markup(escapeHTML(x) + y), nil
	case safeA:
		return Markup(x + y), nil
	}
	return x + y, nil
}

func plainSequence(v any) bool {
	switch v.(type) {
	case string, *List, data.Tuple, []byte:
		return true
	}
	return false
}

// repeatEither multiplies text or a list by a number, in either order.
func (r *run) repeatEither(a, b any) (any, error) {
	for _, way := range [][2]any{{a, b}, {b, a}} {
		if !isInt(way[1]) {
			continue
		}
		if v, ok, err := r.repeat(way[0], way[1]); ok {
			return v, err
		}
	}
	switch {
	case plainSequence(a):
		return nil, Raise(TypeError, "can't multiply sequence by non-int of type '%s'", typeName(b))
	case plainSequence(b):
		return nil, Raise(TypeError, "can't multiply sequence by non-int of type '%s'", typeName(a))
	}
	return nil, unsupported("*", a, b)
}

func (r *run) repeat(v, times any) (out any, known bool, err error) {
	if _, far := times.(*big.Int); far && (plainSequence(v) || typeName(v) == "Markup") {
		return nil, true, Raise(OverflowError, "cannot fit 'int' into an index-sized integer")
	}
	n := count(times)
	switch v := v.(type) {
	case string:
		text, err := r.repeatText(v, n)
		return text, true, err
	case Markup:
		text, err := r.repeatText(string(v), n)
		return Markup(text), true, err
	case *List:
		items, err := r.repeatItems(v.Items, n)
		return &List{items}, true, err
	case data.Tuple:
		items, err := r.repeatItems(v, n)
		return data.Tuple(items), true, err
	case []byte:
		text, err := r.repeatText(string(v), n)
		return []byte(text), true, err
	}
	return nil, false, nil
}

// count returns a number of repetitions: none below zero, and the maximum beyond 64 bits.
func count(v any) int {
	if n, ok := smallInt(v); ok {
		return int(max(n, 0))
	}
	if bigOf(v).Sign() < 0 {
		return 0
	}
	return math.MaxInt
}

func (r *run) repeatText(s string, n int) (string, error) {
	size, ok := product(len(s), n)
	if !ok {
		size = -1
	}
	if err := r.room(size); err != nil {
		return "", err
	}
	return strings.Repeat(s, min(n, size)), nil
}

func (r *run) repeatItems(items []any, n int) ([]any, error) {
	size, ok := product(16*len(items), n)
	if !ok {
		size = -1
	}
	if err := r.room(size); err != nil {
		return nil, err
	}
	out := make([]any, 0, size/16)
	for len(items) > 0 && len(out) < size/16 {
		out = append(out, items...)
	}
	return out, nil
}

func product(a, b int) (int, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int(lo), hi == 0 && lo < math.MaxInt/2
}

// numbers applies an operator to two numbers.
func (r *run) numbers(op tokenKind, a, b any) (any, error) {
	x, okA := smallInt(a)
	y, okB := smallInt(b)
	if okA && okB {
		if v, done, err := smallNumbers(op, x, y); done {
			return v, err
		}
	}
	_, floatA := a.(float64)
	_, floatB := b.(float64)
	if floatA || floatB || op == "/" {
		return r.floats(op, a, b)
	}
	return r.bigs(op, bigOf(a), bigOf(b))
}

// smallNumbers computes results that cannot exceed 64 bits.
func smallNumbers(op tokenKind, x, y int64) (v any, done bool, err error) {
	switch op {
	case "+":
		sum := x + y
		return sum, (sum > x) == (y > 0), nil
	case "-":
		diff := x - y
		return diff, (diff < x) == (y > 0), nil
	case "*":
		if x > math.MinInt32 && x < math.MaxInt32 && y > math.MinInt32 && y < math.MaxInt32 {
			return x * y, true, nil
		}
	case "//":
		if y == 0 {
			return nil, true, Raise(ZeroDivisionError, "integer division or modulo by zero")
		}
		if x != math.MinInt64 {
			q := x / y
			if x%y != 0 && (x < 0) != (y < 0) {
				q--
			}
			return q, true, nil
		}
	case "%":
		if y == 0 {
			return nil, true, Raise(ZeroDivisionError, "integer modulo by zero")
		}
		if x != math.MinInt64 {
			m := x % y
			if m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			return m, true, nil
		}
	}
	return nil, false, nil
}

func (r *run) bigs(op tokenKind, x, y *big.Int) (any, error) {
	z := new(big.Int)
	switch op {
	case "+":
		return normal(z.Add(x, y)), nil
	case "-":
		return normal(z.Sub(x, y)), nil
	case "*":
		if x.BitLen()+y.BitLen() > maxBits {
			return nil, Raise(LimitError, "an integer of more than %d bits", maxBits)
		}
		return normal(z.Mul(x, y)), r.room((x.BitLen() + y.BitLen()) / 8)
	case "//", "%":
		if err := r.room((x.BitLen() + y.BitLen()) / 8); err != nil {
			return nil, err
		}
		return floorDivide(op, x, y)
	}
	return r.power(x, y)
}

func floorDivide(op tokenKind, x, y *big.Int) (any, error) {
	if y.Sign() == 0 {
		if op == "%" {
			return nil, Raise(ZeroDivisionError, "integer modulo by zero")
		}
		return nil, Raise(ZeroDivisionError, "integer division or modulo by zero")
	}
	q, m := new(big.Int).QuoRem(x, y, new(big.Int))
	if m.Sign() != 0 && (m.Sign() < 0) != (y.Sign() < 0) {
		m.Add(m, y)
		q.Sub(q, big.NewInt(1))
	}
	if op == "%" {
		return normal(m), nil
	}
	return normal(q), nil
}

func (r *run) power(x, y *big.Int) (any, error) {
	if y.Sign() < 0 {
		return r.floats("**", normal(x), normal(y))
	}
	if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxBits ||
		int64(x.BitLen()-1)*y.Int64() > maxBits) {
		return nil, Raise(LimitError, "an integer of more than %d bits", maxBits)
	}
	if x.BitLen() <= 1 {
		return unitPower(x, y), nil
	}
	z := new(big.Int).Exp(x, y, nil)
	return normal(z), r.room(z.BitLen() / 8)
}

// unitPower returns a power of 0, 1 or -1.
func unitPower(x, y *big.Int) any {
	switch {
	case y.Sign() == 0, x.Sign() > 0, x.Sign() < 0 && y.Bit(0) == 0:
		return int64(1)
	case x.Sign() == 0:
		return int64(0)
	}
	return int64(-1)
}

func (r *run) floats(op tokenKind, a, b any) (any, error) {
	if op == "/" && isInt(a) && isInt(b) {
		return divideInts(bigOf(a), bigOf(b))
	}
	x, err := floatOf(a)
	if err != nil {
		return nil, err
	}
	y, err := floatOf(b)
	if err != nil {
		return nil, err
	}
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "**":
		return floatPower(x, y)
	}
	return divideFloats(op, x, y)
}

func divideInts(x, y *big.Int) (any, error) {
	if y.Sign() == 0 {
		return nil, Raise(ZeroDivisionError, "division by zero")
	}
	if x.Sign() == 0 {
		return math.Copysign(0, float64(y.Sign())), nil
	}
	f, _ := new(big.Rat).SetFrac(x, y).Float64()
	if math.IsInf(f, 0) {
		return nil, Raise(OverflowError, "integer division result too large for a float")
	}
	return f, nil
}

func divideFloats(op tokenKind, x, y float64) (any, error) {
	if y == 0 {
		switch op {
		case "/":
			return nil, Raise(ZeroDivisionError, "float division by zero")
		case "//":
			return nil, Raise(ZeroDivisionError, "float floor division by zero")
		}
		return nil, Raise(ZeroDivisionError, "float modulo")
	}
	if op == "/" {
		return x / y, nil
	}
	mod := math.Mod(x, y)
	div := (x - mod) / y
	if mod != 0 {
		if (y < 0) != (mod < 0) {
			mod += y
			div--
		}
	} else {
		mod = math.Copysign(0, y)
	}
	if op == "%" {
		return mod, nil
	}
	floor := math.Floor(div)
	if div != 0 && div-floor > 0.5 {
		floor++
	}
	if div == 0 {
		floor = math.Copysign(0, x/y)
	}
	return floor, nil
}

func floatPower(x, y float64) (any, error) {
	if x == 0 && y < 0 {
		return nil, Raise(ZeroDivisionError, "0.0 cannot be raised to a negative power")
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(y, 0) && !math.IsInf(x, 0) {
		return nil, Raise(ValueError, "complex numbers are not supported")
	}
	z := pow(x, y)
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return nil, Raise(OverflowError, "(34, 'Numerical result out of range')")
	}
	return z, nil
}

func (r *run) unary(op tokenKind, v any) (any, error) {
	switch v := v.(type) {
	case *Undefined:
		return nil, v.fail()
	case float64:
		if op == "-" {
			return -v, nil
		}
		return v, nil
	case *big.Int, int64, bool:
		if op == "-" {
			return normal(new(big.Int).Neg(bigOf(v))), nil
		}
		return normal(bigOf(v)), nil
	}
	return nil, Raise(TypeError, "bad operand type for unary %s: '%s'", string(op), typeName(v))
}

// runeCount returns the length of a text in characters.
func runeCount(s string) int { return utf8.RuneCountInString(s) }
