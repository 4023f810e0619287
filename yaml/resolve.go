package yaml

import "strings"

// resolve returns the tag of a plain scalar: PyYAML's implicit resolvers (resolver.py). They are
// those of YAML 1.1, except for floats without a dot or without a sign in the exponent.
func resolve(s string) string {
	if s == "" {
		return nullTag
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
		return resolveNumber(s)
	default:
		return resolveWord(s)
	}
}

func resolveWord(s string) string {
	switch s {
	case "yes", "Yes", "YES", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE",
		"on", "On", "ON", "off", "Off", "OFF":
		return boolTag
	case "~", "null", "Null", "NULL":
		return nullTag
	case "<<":
		return mergeTag
	case "=":
		return valueTag
	}
	return strTag
}

func resolveNumber(s string) string {
	switch {
	case isFloat(s):
		return floatTag
	case isInt(s):
		return intTag
	case isTimestamp(s):
		return timestampTag
	}
	return strTag
}

const (
	decimal = "0123456789"
	digits_ = decimal + "_"
)

// span returns the length of the prefix of s that consists of characters in set.
func span(s, set string) int { return len(s) - len(strings.TrimLeft(s, set)) }

func cutSign(s string) (rest string, signed bool) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[1:], true
	}
	return s, false
}

func isInt(s string) bool {
	s, _ = cutSign(s)
	switch {
	case s == "" || s[0] < '0' || s[0] > '9':
		return false
	case s == "0":
		return true
	case strings.HasPrefix(s, "0b"):
		return len(s) > 2 && span(s[2:], "01_") == len(s)-2
	case strings.HasPrefix(s, "0x"):
		return len(s) > 2 && span(s[2:], digits_+"abcdefABCDEF") == len(s)-2
	case s[0] == '0':
		return span(s[1:], "01234567_") == len(s)-1
	}
	rest := s[span(s, digits_):]
	return rest == "" || isSixties(rest)
}

// isSixties reports whether s is one or more of :0 to :59.
func isSixties(s string) bool {
	for s != "" {
		n := span(s[1:], decimal)
		if s[0] != ':' || n < 1 || n > 2 || n == 2 && s[1] > '5' {
			return false
		}
		s = s[1+n:]
	}
	return true
}

func isFloat(s string) bool {
	rest, signed := cutSign(s)
	switch rest {
	case ".inf", ".Inf", ".INF":
		return true
	case ".nan", ".NaN", ".NAN":
		return !signed
	}
	dot := strings.IndexByte(rest, '.')
	if dot < 0 {
		return false
	}
	whole, part := rest[:dot], rest[dot+1:]
	if whole == "" { // .5 has no sign and begins with a digit
		return !signed && part != "" && part[0] != '_' && isFraction(part, true)
	}
	if whole[0] == '_' {
		return false
	}
	n := span(whole, digits_)
	if n == len(whole) {
		return n > 0 && isFraction(part, true)
	}
	return n > 0 && isSixties(whole[n:]) && isFraction(part, false)
}

// isFraction reports whether s may follow a dot; an exponent needs its sign.
func isFraction(s string, exponent bool) bool {
	n := span(s, digits_)
	if n == len(s) {
		return true
	}
	e := s[n:]
	return exponent && len(e) > 2 && (e[0] == 'e' || e[0] == 'E') &&
		(e[1] == '-' || e[1] == '+') && span(e[2:], decimal) == len(e)-2
}

// isTimestamp reports whether s is a date, or a date and time.
func isTimestamp(s string) bool {
	if len(s) == 10 && shaped(s, "dddd-dd-dd") {
		return true
	}
	p := scan{s}
	if !(p.digits(4, 4) && p.one("-") && p.digits(1, 2) && p.one("-") && p.digits(1, 2)) {
		return false
	}
	if !p.one("Tt") && !p.some(" \t") {
		return false
	}
	if !(p.digits(1, 2) && p.one(":") && p.digits(2, 2) && p.one(":") && p.digits(2, 2)) {
		return false
	}
	if p.one(".") {
		p.some(decimal)
	}
	return p.s == "" || p.zone()
}

func shaped(s, shape string) bool {
	for i := range len(shape) {
		if isDigit := s[i] >= '0' && s[i] <= '9'; isDigit != (shape[i] == 'd') ||
			!isDigit && s[i] != shape[i] {
			return false
		}
	}
	return true
}

// A scan reads a text from its left.
type scan struct{ s string }

func (p *scan) some(set string) bool {
	n := span(p.s, set)
	p.s = p.s[n:]
	return n > 0
}

func (p *scan) one(set string) bool {
	if p.s == "" || strings.IndexByte(set, p.s[0]) < 0 {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *scan) digits(least, most int) bool {
	n := min(span(p.s, decimal), most)
	p.s = p.s[n:]
	return n >= least
}

// zone reads the rest as Z or an offset.
func (p *scan) zone() bool {
	p.some(" \t")
	if p.one("Z") {
		return p.s == ""
	}
	if !p.one("-+") || !p.digits(1, 2) {
		return false
	}
	if p.one(":") && !p.digits(2, 2) {
		return false
	}
	return p.s == ""
}
