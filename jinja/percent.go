package jinja

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// A percentage is one evaluation of text % values.
type percentage struct {
	r      *run
	out    strings.Builder
	args   []any
	at     int
	dict   any // the mapping for %(name)s; nil if the right side is not a mapping
	named  bool
	escape bool
	format string
	pos    int
}

// percent is text % v; for Markup it returns Markup and escapes the values.
func (r *run) percent(format string, left, v any) (any, error) {
	p := &percentage{r: r, format: format}
	_, p.escape = left.(Markup)
	switch x := v.(type) {
	case data.Tuple:
		p.args = x
	case *data.Map, *List, Mapper, *rangeValue:
		p.args, p.dict = []any{v}, v
	case *Undefined:
		p.args, p.dict = []any{v}, v
	default:
		p.args = []any{v}
	}
	if err := p.all(); err != nil {
		return nil, err
	}
	if p.at < len(p.args) && p.dict == nil {
		return nil, Raise(TypeError, "not all arguments converted during string formatting")
	}
	return like(left, p.out.String()), nil
}

func (p *percentage) all() error {
	for {
		i := strings.IndexByte(p.format[p.pos:], '%')
		if i < 0 {
			p.out.WriteString(p.format[p.pos:])
			return nil
		}
		p.out.WriteString(p.format[p.pos : p.pos+i])
		p.pos += i + 1
		if err := p.one(); err != nil {
			return err
		}
		if p.out.Len() > p.r.limits.Value {
			return p.r.room(p.out.Len())
		}
	}
}

func (p *percentage) next() (any, error) {
	if p.at >= len(p.args) || p.named {
		return nil, Raise(TypeError, "not enough arguments for format string")
	}
	p.at++
	return p.args[p.at-1], nil
}

// one reads a conversion after its % and writes its result.
func (p *percentage) one() error {
	value, named, err := p.key()
	if err != nil {
		return err
	}
	f, err := p.flags()
	if err != nil {
		return err
	}
	if p.pos >= len(p.format) {
		return Raise(ValueError, "incomplete format")
	}
	c, n := utf8.DecodeRuneInString(p.format[p.pos:])
	p.pos += n
	if c == '%' {
		p.out.WriteByte('%')
		return nil
	}
	if !named {
		if value, err = p.next(); err != nil {
			return err
		}
	}
	text, err := p.convert(value, c, f)
	if err != nil {
		return err
	}
	p.out.WriteString(text)
	return p.r.room(len(text))
}

// key reads (name) and looks it up.
func (p *percentage) key() (v any, named bool, err error) {
	if p.pos >= len(p.format) || p.format[p.pos] != '(' {
		return nil, false, nil
	}
	if p.dict == nil {
		return nil, false, Raise(TypeError, "format requires a mapping")
	}
	depth := 1
	start := p.pos + 1
	for p.pos++; p.pos < len(p.format); p.pos++ {
		switch p.format[p.pos] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if depth > 0 {
		return nil, false, Raise(ValueError, "incomplete format key")
	}
	name := p.format[start:p.pos]
	p.pos++
	p.named = true
	if u, ok := p.dict.(*Undefined); ok {
		return nil, false, u.fail()
	}
	if l, ok := p.dict.(*List); ok {
		return nil, false, Raise(TypeError,
			"%s indices must be integers or slices, not str", typeName(l))
	}
	v, ok, err := p.r.item(p.dict, name)
	if err == nil && !ok {
		err = p.r.keyError(name)
	}
	return v, true, err
}

func (p *percentage) flags() (spec, error) {
	f := spec{precision: -1, align: '>'}
	for ; p.pos < len(p.format); p.pos++ {
		switch p.format[p.pos] {
		case '-':
			f.align = '<'
		case '+':
			f.sign = '+'
		case ' ':
			if f.sign == 0 {
				f.sign = ' '
			}
		case '#':
			f.alternate = true
		case '0':
			f.zero = true
		default:
			return f, p.sizes(&f)
		}
	}
	return f, nil
}

// sizes reads the width, the precision and a length letter, which has no meaning.
func (p *percentage) sizes(f *spec) error {
	width, err := p.size()
	if err != nil {
		return err
	}
	if width < 0 && width != absent {
		f.align, width = '<', -width
	}
	if width != absent {
		f.width = width
	}
	if p.pos < len(p.format) && p.format[p.pos] == '.' {
		p.pos++
		if f.precision, err = p.size(); err != nil {
			return err
		}
		if f.precision == absent {
			f.precision = 0
		}
		f.precision = max(f.precision, 0)
	}
	if p.pos < len(p.format) && strings.IndexByte("hlL", p.format[p.pos]) >= 0 {
		p.pos++
	}
	return nil
}

const absent = math.MinInt

func (p *percentage) size() (int, error) {
	if p.pos < len(p.format) && p.format[p.pos] == '*' {
		p.pos++
		v, err := p.next()
		if err != nil {
			return 0, err
		}
		if !isInt(v) {
			return 0, Raise(TypeError, "* wants int")
		}
		return indexOf(v)
	}
	n, rest, err := leadingNumber(p.format[p.pos:])
	if err != nil {
		return 0, Raise(ValueError, "width too big")
	}
	p.pos = len(p.format) - len(rest)
	if n < 0 {
		return absent, nil
	}
	return n, nil
}

func (p *percentage) convert(v any, c rune, f spec) (string, error) {
	switch c {
	case 's', 'r', 'a':
		text, err := p.text(v, c)
		if err != nil {
			return "", err
		}
		f.zero = false
		f.sign, f.alternate = 0, false
		if f.precision >= 0 && runeCount(text) > f.precision {
			text = pickText(text, 0, 1, f.precision)
		}
		return p.r.pad("", text, f, '>')
	case 'd', 'i', 'u':
		return p.integer(v, byte(c), f, "a real number")
	case 'x', 'X', 'o':
		return p.integer(v, byte(c), f, "an integer")
	case 'e', 'E', 'f', 'F', 'g', 'G':
		return p.float(v, byte(c), f)
	case 'c':
		return p.char(v, f)
	}
	at := runeCount(p.format[:p.pos]) - 1
	return "", Raise(ValueError, "unsupported format character '%c' (0x%x) at index %d", c, c, at)
}

func (p *percentage) text(v any, c rune) (string, error) {
	var text string
	var err error
	if c == 's' {
		text, err = p.r.str(v)
	} else {
		text, err = p.r.repr(v)
	}
	if c == 'a' {
		text = asciiOnly(text)
	}
	if _, safe := v.(Markup); p.escape && !(safe && c == 's') {
		text = escapeHTML(text)
	}
	return text, err
}

func (p *percentage) integer(v any, c byte, f spec, want string) (string, error) {
	if x, ok := v.(float64); ok && want != "an integer" {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return "", notFinite(x)
		}
		n, _ := big.NewFloat(x).Int(nil)
		v = normal(n)
	}
	if u, ok := v.(*Undefined); ok {
		return "", u.fail()
	}
	if !isInt(v) {
		return "", Raise(TypeError, "%%%c format: %s is required, not %s", c, want, typeName(v))
	}
	n := bigOf(v)
	base := 10
	switch c {
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
	}
	digits := new(big.Int).Abs(n).Text(base)
	if c == 'X' {
		digits = strings.ToUpper(digits)
	}
	if gap := f.precision - len(digits); gap > 0 {
		if err := p.r.room(gap); err != nil {
			return "", err
		}
		digits = strings.Repeat("0", gap) + digits
	}
	sign := signOf(n.Sign() < 0, f)
	if f.alternate && base != 10 {
		sign += "0" + string(c)
	}
	return p.pad(sign, digits, f)
}

// pad inserts zeros after the sign if the flag 0 is given without a minus.
func (p *percentage) pad(sign, digits string, f spec) (string, error) {
	if f.zero && f.align == '>' {
		f.align, f.fill = '=', "0"
	}
	f.zero = false
	return p.r.pad(sign, digits, f, '>')
}

func notFinite(x float64) error {
	if math.IsNaN(x) {
		return Raise(ValueError, "cannot convert float NaN to integer")
	}
	return Raise(OverflowError, "cannot convert float infinity to integer")
}

func (p *percentage) float(v any, c byte, f spec) (string, error) {
	if u, ok := v.(*Undefined); ok {
		return "", u.fail()
	}
	if !isNumber(v) {
		return "", Raise(TypeError, "must be real number, not %s", typeName(v))
	}
	x, err := floatOf(v)
	if err != nil {
		return "", err
	}
	if f.precision > 1000 {
		if err := p.r.room(f.precision); err != nil {
			return "", err
		}
	}
	f.kind = c
	return p.pad(signOf(math.Signbit(x) && !math.IsNaN(x), f), floatDigits(math.Abs(x), f), f)
}

func (p *percentage) char(v any, f spec) (string, error) {
	f.zero = false
	if s, ok := textOf(v); ok {
		if runeCount(s) != 1 {
			return "", Raise(TypeError, "%%c requires int or char")
		}
		return p.r.pad("", s, f, '>')
	}
	if !isInt(v) {
		return "", Raise(TypeError, "%%c requires int or char")
	}
	n, ok := smallInt(v)
	if !ok || n < 0 || n > utf8.MaxRune {
		return "", Raise(OverflowError, "%%c arg not in range(0x110000)")
	}
	return p.r.pad("", string(rune(n)), f, '>')
}

// asciiOnly is Python's ascii() of a repr.
func asciiOnly(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		b.WriteString(asciiEscape(r))
	}
	return b.String()
}
