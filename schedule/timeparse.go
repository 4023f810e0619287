package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseTime parses a time like Python's strptime in the C locale. Missing parts default to midnight
// on 1900-01-01. The result is in UTC, whatever zone is meant.
func ParseTime(text, format string) (time.Time, error) {
	p := timeParser{rest: text, year: 1900, month: 1, day: 1, half: unset}
	for i := 0; i < len(format); i++ {
		ok := false
		switch c := format[i]; {
		case c == '%' && i+1 < len(format):
			i++
			ok = p.directive(format[i])
		case c == ' ' || c == '\t' || c == '\n':
			trimmed := strings.TrimLeft(p.rest, " \t\n")
			ok = len(trimmed) < len(p.rest)
			p.rest = trimmed
		default:
			ok = p.literal(string(c))
		}
		if !ok {
			return time.Time{}, fmt.Errorf("time data %q does not match format %q", text, format)
		}
	}
	t, ok := p.time()
	if !ok {
		return time.Time{}, fmt.Errorf("time data %q does not match format %q", text, format)
	}
	return t, nil
}

// A timeParser consumes a text directive by directive.
type timeParser struct {
	rest                                                  string
	year, month, day, hour, minute, second, micros, inDay int
	half                                                  int // 0 means am, 12 pm
}

func (p *timeParser) literal(s string) bool {
	if len(p.rest) < len(s) || !strings.EqualFold(p.rest[:len(s)], s) {
		return false
	}
	p.rest = p.rest[len(s):]
	return true
}

func (p *timeParser) directive(c byte) bool {
	switch c {
	case 'Y':
		return len(p.rest) >= 4 && p.digits(&p.year, 4, 1, 9999)
	case 'y':
		ok := p.digits(&p.year, 2, 0, 99)
		if p.year += 1900; p.year < 1969 {
			p.year += 100
		}
		return ok
	case 'm':
		return p.digits(&p.month, 2, 1, 12)
	case 'd', 'e':
		return p.digits(&p.day, 2, 1, 31)
	case 'j':
		return p.digits(&p.inDay, 3, 1, 366)
	case 'H':
		return p.digits(&p.hour, 2, 0, 23)
	case 'I':
		return p.digits(&p.hour, 2, 1, 12)
	case 'M':
		return p.digits(&p.minute, 2, 0, 59)
	case 'S':
		return p.digits(&p.second, 2, 0, 61)
	case 'f':
		return p.fraction()
	case '%':
		return p.literal("%")
	}
	return p.word(c)
}

func (p *timeParser) word(c byte) bool {
	var ignored int
	switch c {
	case 'p':
		if p.name([]string{"am", "pm"}, &p.half, false) {
			p.half *= 12
			return true
		}
		return false
	case 'B', 'b', 'h':
		ok := p.name(monthNames(), &p.month, c != 'B')
		p.month++
		return ok
	case 'A', 'a':
		return p.name(weekdays(), &ignored, c == 'a')
	case 'Z':
		return p.name([]string{"utc", "gmt"}, &ignored, false)
	case 'z':
		if p.literal("Z") {
			return true
		}
		return (p.literal("+") || p.literal("-")) && len(p.rest) >= 4 &&
			p.digits(&ignored, 4, 0, 2359)
	case 'F':
		return p.several("Y-m-d")
	case 'T':
		return p.several("H:M:S")
	case 'R':
		return p.several("H:M")
	case 'D':
		return p.several("m/d/y")
	}
	return false
}

// several parses directives separated by one character each.
func (p *timeParser) several(form string) bool {
	for i := range len(form) {
		if i%2 == 0 && !p.directive(form[i]) || i%2 == 1 && !p.literal(form[i:i+1]) {
			return false
		}
	}
	return true
}

// digits parses a number of at most size digits, or fewer if it would exceed high.
func (p *timeParser) digits(into *int, size, low, high int) bool {
	n := 0
	for n < size && n < len(p.rest) && isDigit(p.rest[n:]) {
		n++
	}
	for ; n > 0; n-- {
		if v, err := strconv.Atoi(p.rest[:n]); err == nil && v >= low && v <= high {
			*into, p.rest = v, p.rest[n:]
			return true
		}
	}
	return false
}

func (p *timeParser) fraction() bool {
	n := 0
	for n < 6 && n < len(p.rest) && isDigit(p.rest[n:]) {
		n++
	}
	p.micros, _ = strconv.Atoi((p.rest[:n] + "000000")[:6])
	p.rest = p.rest[n:]
	return n > 0
}

// name parses one of the names or its first three letters.
func (p *timeParser) name(names []string, into *int, short bool) bool {
	for i, name := range names {
		if short {
			name = name[:3]
		}
		if p.literal(name) {
			*into = i
			return true
		}
	}
	return false
}

func (p *timeParser) time() (time.Time, bool) {
	hour := p.hour
	if p.half != unset {
		hour = hour%12 + p.half
	}
	if p.inDay > 0 {
		return time.Date(p.year, 1, p.inDay, hour, p.minute, p.second, p.micros*1000,
			time.UTC), p.rest == ""
	}
	ok := p.rest == "" && p.day <= daysIn(p.year, p.month) && p.second <= 59
	return time.Date(p.year, time.Month(p.month), p.day, hour, p.minute, p.second, p.micros*1000,
		time.UTC), ok
}
