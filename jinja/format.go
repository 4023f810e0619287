package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// A spec describes how to format a value: the part after the colon of {:...} (Python's format
// mini-language), or between % and the letter.
type spec struct {
	fill      string // "" means a space, or 0 if zero is set
	align     byte   // < > ^ = or 0
	sign      byte   // + space or 0
	alternate bool   // #
	zero      bool
	width     int
	group     byte // , _ or 0
	precision int  // -1 if not given
	kind      byte // the letter; 0 if not given
	owner     string
	positive  bool // z: no negative zero
}

// parseSpec parses Python's format mini-language.
func parseSpec(s string) (spec, error) {
	f := spec{precision: -1}
	if _, n := utf8.DecodeRuneInString(s); len(s) > n && strings.IndexByte("<>=^", s[n]) >= 0 {
		f.fill, f.align, s = s[:n], s[n], s[n+1:]
	} else if s != "" && strings.IndexByte("<>=^", s[0]) >= 0 {
		f.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		f.sign, s = s[0], s[1:]
	}
	if strings.HasPrefix(s, "z") {
		f.positive, s = true, s[1:]
	}
	if strings.HasPrefix(s, "#") {
		f.alternate, s = true, s[1:]
	}
	if strings.HasPrefix(s, "0") {
		f.zero, s = true, s[1:]
	}
	var err error
	if f.width, s, err = leadingNumber(s); err != nil {
		return f, err
	}
	f.width = max(f.width, 0)
	if s != "" && (s[0] == ',' || s[0] == '_') {
		f.group, s = s[0], s[1:]
		if s != "" && (s[0] == ',' || s[0] == '_') {
			if s[0] == f.group {
				return f, Raise(ValueError, "Cannot specify '%c' with '%c'.", f.group, s[0])
			}
			return f, Raise(ValueError, "Cannot specify both ',' and '_'.")
		}
	}
	if strings.HasPrefix(s, ".") {
		if f.precision, s, err = leadingNumber(s[1:]); err != nil {
			return f, err
		}
		if f.precision < 0 {
			return f, Raise(ValueError, "Format specifier missing precision")
		}
	}
	if _, n := utf8.DecodeRuneInString(s); len(s) > n {
		return f, Raise(ValueError, "Invalid format specifier")
	}
	if s != "" {
		f.kind = s[0]
	}
	return f, nil
}

// leadingNumber parses digits; the number is -1 if there are none.
func leadingNumber(s string) (n int, rest string, err error) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return -1, s, nil
	}
	n, err = strconv.Atoi(s[:i])
	if err != nil || n > math.MaxInt32 {
		return 0, s, Raise(ValueError, "Too many decimal digits in format string")
	}
	return n, s[i:], nil
}

// formatValue is Python's format().
func (r *run) formatValue(v any, text string) (string, error) {
	if text == "" {
		return r.str(v)
	}
	f, err := parseSpecOf(v, text)
	f.owner = typeName(v)
	// it is of this package, and not wrapped
	if err != nil && err.(*Error).Message == "Invalid format specifier" { //nolint:errorlint // the error itself, not one within
		err = Raise(ValueError, "Invalid format specifier %s for object of type %s", quote(text),
			quote(f.owner))
	}
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return r.formatString(v, f)
	case Markup:
		return r.formatString(string(v), f)
	case bool, int64, *big.Int:
		return r.formatInt(v, f)
	case float64:
		return r.formatFloat(v, f)
	case *Undefined:
		if err := v.strict(); err != nil {
			return "", err
		}
	}
	return "", Raise(TypeError, "unsupported format string passed to %s.__format__", typeName(v))
}

func parseSpecOf(v any, text string) (spec, error) {
	switch v.(type) {
	case string, Markup, bool, int64, *big.Int, float64:
		return parseSpec(text)
	}
	return spec{}, nil
}

// pad fills body up to the width; sign goes before it, and before the zeros of '='.
func (r *run) pad(sign, body string, f spec, align byte) (string, error) {
	fill := f.fill
	if f.zero && fill == "" {
		fill = "0"
		if f.align == 0 && align == '>' {
			align = '='
		}
	}
	if f.align != 0 {
		align = f.align
	}
	if fill == "" {
		fill = " "
	}
	gap := f.width - runeCount(sign) - runeCount(body)
	if gap <= 0 {
		return sign + body, nil
	}
	if err := r.room(gap * len(fill)); err != nil {
		return "", err
	}
	switch align {
	case '<':
		return sign + body + strings.Repeat(fill, gap), nil
	case '^':
		return strings.Repeat(fill, gap/2) + sign + body + strings.Repeat(fill, gap-gap/2), nil
	case '=':
		return sign + strings.Repeat(fill, gap) + body, nil
	}
	return strings.Repeat(fill, gap) + sign + body, nil
}

func unknownCode(f spec, kind string) error {
	code := string(rune(f.kind))
	if f.kind <= ' ' || f.kind > '~' {
		code = fmt.Sprintf("\\x%x", f.kind)
	}
	return Raise(ValueError, "Unknown format code '%s' for object of type '%s'", code, kind)
}

func (r *run) formatString(s string, f spec) (string, error) {
	switch {
	case f.kind != 0 && f.kind != 's':
		return "", unknownCode(f, f.owner)
	case f.group != 0:
		return "", Raise(ValueError, "Cannot specify '%c' with 's'.", f.group)
	case f.sign == ' ':
		return "", Raise(ValueError, "Space not allowed in string format specifier")
	case f.sign != 0:
		return "", Raise(ValueError, "Sign not allowed in string format specifier")
	case f.positive:
		return "", Raise(ValueError, "Negative zero coercion (z) not allowed in string format specifier")
	case f.alternate:
		return "", Raise(ValueError, "Alternate form (#) not allowed in string format specifier")
	case f.align == '=':
		return "", Raise(ValueError, "'=' alignment not allowed in string format specifier")
	}
	if f.precision >= 0 && runeCount(s) > f.precision {
		s = pickText(s, 0, 1, f.precision)
	}
	if f.zero && f.align == 0 {
		f.align = '<'
	}
	return r.pad("", s, f, '<')
}

func signOf(negative bool, f spec) string {
	switch {
	case negative:
		return "-"
	case f.sign == '+' || f.sign == ' ':
		return string(f.sign)
	}
	return ""
}

func (r *run) formatInt(v any, f spec) (string, error) {
	n := bigOf(v)
	switch f.kind {
	case 'e', 'E', 'f', 'F', 'g', 'G', '%':
		x, err := floatOf(normal(n))
		if err != nil {
			return "", err
		}
		return r.formatFloat(x, f)
	}
	if f.positive {
		return "", Raise(ValueError, "Negative zero coercion (z) not allowed in integer format specifier")
	}
	if f.precision >= 0 {
		return "", Raise(ValueError, "Precision not allowed in integer format specifier")
	}
	base, prefix := 10, ""
	switch f.kind {
	case 0, 'd', 'n':
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'x', 'X':
		base, prefix = 16, "0"+string(f.kind)
	case 'c':
		return r.formatChar(n, f)
	default:
		return "", unknownCode(f, typeName(v))
	}
	if base == 10 && n.BitLen() > maxDigits*4 {
		_, err := r.repr(v)
		return "", err
	}
	digits := new(big.Int).Abs(n).Text(base)
	if f.kind == 'X' {
		digits = strings.ToUpper(digits)
	}
	if f.group == ',' && base != 10 {
		return "", Raise(ValueError, "Cannot specify ',' with '%c'.", f.kind)
	}
	sign := signOf(n.Sign() < 0, f)
	if f.alternate {
		sign += prefix
	}
	every := 3
	if base != 10 {
		every = 4
	}
	return r.grouped(sign, digits, "", f, every)
}

// grouped inserts separators between digits, including zeros used as fill.
func (r *run) grouped(sign, digits, rest string, f spec, every int) (string, error) {
	if f.group == 0 {
		return r.pad(sign, digits+rest, f, '>')
	}
	if f.zero && f.align == 0 || f.align == '=' && f.fill == "0" {
		if err := r.room(f.width); err != nil {
			return "", err
		}
		for len(sign)+len(separate(digits, f.group, every))+len(rest) < f.width {
			short := f.width - len(sign) - len(rest) - len(separate(digits, f.group, every))
			digits = strings.Repeat("0", max(1, short*every/(every+1))) + digits
		}
	}
	return r.pad(sign, separate(digits, f.group, every)+rest, f, '>')
}

func separate(digits string, sep byte, every int) string {
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%every == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

func (r *run) formatChar(n *big.Int, f spec) (string, error) {
	if !n.IsInt64() || n.Int64() < 0 || n.Int64() > utf8.MaxRune {
		return "", Raise(OverflowError, "%%c arg not in range(0x110000)")
	}
	if f.sign != 0 {
		return "", Raise(ValueError, "Sign not allowed with integer format specifier 'c'")
	}
	return r.pad("", string(rune(n.Int64())), f, '<')
}

func (r *run) formatFloat(x float64, f spec) (string, error) {
	if f.precision > 1000 {
		if err := r.room(f.precision); err != nil {
			return "", err
		}
	}
	var body string
	a := math.Abs(x)
	switch f.kind {
	case 0:
		body = plainFloat(a, f)
	case 'n':
		f.kind = 'g'
		body = floatDigits(a, f)
	case 'e', 'E', 'f', 'F', 'g', 'G', '%':
		body = floatDigits(a, f)
	default:
		return "", unknownCode(f, "float")
	}
	sign := signOf(math.Signbit(x) && !math.IsNaN(x), f)
	end := strings.IndexFunc(body, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		end = len(body)
	}
	if end == 0 {
		f.group = 0
	}
	return r.grouped(sign, body[:end], body[end:], f, 3)
}

// plainFloat formats without a letter: as str, or as g with at least one digit after the point.
func plainFloat(a float64, f spec) string {
	if f.precision < 0 {
		return data.Str(a)
	}
	p := max(f.precision, 1)
	g := generalFloat(a, p, false)
	if !math.IsInf(a, 0) && !math.IsNaN(a) && !strings.ContainsAny(g, ".e") {
		g += ".0"
		if exponentOf(a, p) == p-1 { // the precision leaves no room for ".0"
			g = trimExponent(strconv.FormatFloat(a, 'e', p-1, 64))
		}
	}
	return lowerSpecial(g)
}

// exponentOf returns the decimal exponent of a, rounded to that many digits.
func exponentOf(a float64, digits int) int {
	s := strconv.FormatFloat(a, 'e', digits-1, 64)
	n, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	return n
}

func trimExponent(s string) string {
	at := strings.IndexByte(s, 'e')
	if at < 0 || strings.IndexByte(s, '.') < 0 {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s[:at], "0"), ".") + s[at:]
}

func lowerSpecial(s string) string {
	switch s {
	case "+Inf", "Inf":
		return "inf"
	case "NaN":
		return "nan"
	}
	return s
}

func floatDigits(a float64, f spec) string {
	p := f.precision
	if p < 0 {
		p = 6
	}
	var s string
	switch f.kind {
	case 'e', 'E':
		s = strconv.FormatFloat(a, 'e', p, 64)
	case 'f', 'F':
		s = strconv.FormatFloat(a, 'f', p, 64)
	case '%':
		s = lowerSpecial(strconv.FormatFloat(a*100, 'f', p, 64)) + "%"
	default:
		s = generalFloat(a, max(p, 1), f.alternate)
	}
	s = lowerSpecial(s)
	if f.alternate && p == 0 && strings.IndexByte(s, '.') < 0 && f.kind != 'g' && f.kind != 'G' {
		at := strings.IndexAny(s, "eE%")
		if at < 0 {
			at = len(s)
		}
		s = s[:at] + "." + s[at:]
	}
	if f.kind == 'E' || f.kind == 'G' || f.kind == 'F' {
		return strings.ToUpper(s)
	}
	return s
}

// generalFloat is the format g of C: p significant digits, with trailing zeros only if keep is set.
func generalFloat(a float64, p int, keep bool) string {
	if math.IsInf(a, 0) || math.IsNaN(a) {
		return strconv.FormatFloat(a, 'g', -1, 64)
	}
	exp := 0
	if a != 0 {
		exp = exponentOf(a, p)
	}
	var s string
	if exp < -4 || exp >= p {
		s = strconv.FormatFloat(a, 'e', p-1, 64)
		if !keep {
			s = trimExponent(s)
		}
		return s
	}
	s = strconv.FormatFloat(a, 'f', p-1-exp, 64)
	switch point := strings.IndexByte(s, '.') >= 0; {
	case keep && !point:
		s += "."
	case !keep && point:
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
