package logging

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// maxWidth limits the width and precision of a format field, in characters.
const maxWidth = 1000

// A percent is a conversion of Python's % operator: the part after the name.
type percent struct {
	minus, zero, plus, space, alt bool
	width, precision              int // a negative precision means none
	verb                          byte
}

// readPercent parses the flags, width, precision and verb at the start of s, and returns their
// length.
func readPercent(s string) (p percent, n int, err error) {
	p.precision = -1
	for n < len(s) && p.readFlag(s[n]) {
		n++
	}
	if p.width, n, err = readWidth(s, n); err != nil {
		return p, n, err
	}
	if n < len(s) && s[n] == '.' {
		if p.precision, n, err = readWidth(s, n+1); err != nil {
			return p, n, err
		}
	}
	for n < len(s) && strings.IndexByte("hlL", s[n]) >= 0 { // Python ignores C's size modifiers
		n++
	}
	if n == len(s) {
		return p, n, errors.New("ends before its verb")
	}
	p.verb = s[n]
	return p, n + 1, nil
}

func (p *percent) readFlag(c byte) bool {
	switch c {
	case '-':
		p.minus = true
	case '0':
		p.zero = true
	case '+':
		p.plus = true
	case ' ':
		p.space = true
	case '#':
		p.alt = true
	default:
		return false
	}
	return true
}

func readWidth(s string, from int) (width, end int, err error) {
	for end = from; end < len(s) && s[end] >= '0' && s[end] <= '9'; end++ {
		if width = width*10 + int(s[end]-'0'); width > maxWidth {
			return 0, end, fmt.Errorf("has a width greater than %d", maxWidth)
		}
	}
	return width, end, nil
}

// fits reports whether the verb accepts a value of that kind, by Python's rules.
func (p *percent) fits(k kind) bool {
	verbs := "sra"
	switch k {
	case isInt:
		verbs = "sradiuoxXeEfFgGc"
	case isFloat:
		verbs = "sradiueEfFgG"
	}
	return strings.IndexByte(verbs, p.verb) >= 0
}

func (p *percent) appendText(b []byte, s string) []byte {
	switch p.verb {
	case 'r':
		s = data.Repr(s)
	case 'a':
		s = asciiRepr(s)
	}
	return p.pad(b, p.cut(s))
}

// cut truncates s to the precision.
func (p *percent) cut(s string) string {
	if p.precision < 0 {
		return s
	}
	left := p.precision
	for i := range s {
		if left == 0 {
			return s[:i]
		}
		left--
	}
	return s
}

// pad appends s padded to the width.
func (p *percent) pad(b []byte, s string) []byte {
	spaces := p.width - utf8.RuneCountInString(s)
	if p.minus {
		b = append(b, s...)
	}
	for range spaces {
		b = append(b, ' ')
	}
	if !p.minus {
		b = append(b, s...)
	}
	return b
}

func (p *percent) appendInt(b []byte, n int64) []byte {
	digits, prefix := "", ""
	switch p.verb {
	case 's', 'r', 'a':
		return p.pad(b, p.cut(strconv.FormatInt(n, 10)))
	case 'c':
		return p.pad(b, string(rune(n)))
	case 'o':
		digits, prefix = strconv.FormatInt(magnitude(n), 8), "0o"
	case 'x':
		digits, prefix = strconv.FormatInt(magnitude(n), 16), "0x"
	case 'X':
		digits, prefix = strings.ToUpper(strconv.FormatInt(magnitude(n), 16)), "0X"
	case 'd', 'i', 'u':
		digits = strconv.FormatInt(magnitude(n), 10)
	default:
		return p.appendFloat(b, float64(n))
	}
	if !p.alt {
		prefix = ""
	}
	if missing := p.precision - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return p.padNumber(b, p.sign(n < 0)+prefix, digits)
}

func magnitude(n int64) int64 { return max(n, -n) }

func (p *percent) appendFloat(b []byte, f float64) []byte {
	switch p.verb {
	case 's', 'r', 'a':
		return p.pad(b, p.cut(data.Repr(f)))
	case 'd', 'i', 'u':
		return p.appendInt(b, int64(f)) // times and their parts fit
	}
	precision := p.precision
	if precision < 0 {
		precision = 6
	}
	form := "%.*" + string(p.verb)
	if p.alt {
		form = "%#.*" + string(p.verb)
	}
	return p.padNumber(b, p.sign(f < 0), strings.TrimPrefix(fmt.Sprintf(form, precision, f), "-"))
}

func (p *percent) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case p.plus:
		return "+"
	case p.space:
		return " "
	}
	return ""
}

// padNumber appends a number padded to the width; zeros are inserted after the sign.
func (p *percent) padNumber(b []byte, sign, digits string) []byte {
	if missing := p.width - len(sign) - len(digits); p.zero && !p.minus && missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return p.pad(b, sign+digits)
}

// asciiRepr returns s in the form of Python's ascii().
func asciiRepr(s string) string {
	var b []byte
	for _, r := range data.Repr(s) {
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r <= 0xff:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return string(b)
}
