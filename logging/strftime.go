package logging

import (
	"strconv"
	"strings"
	"time"
)

// appendTime appends t in the format of C's strftime in the C locale, as Python's time.strftime
// prints it with glibc. It supports the flags - _ 0 and ^ and ignores E and O. Unknown directives
// are printed unchanged.
func appendTime(b []byte, form string, t time.Time) []byte {
	for i := 0; i < len(form); i++ {
		if form[i] != '%' {
			b = append(b, form[i])
			continue
		}
		d, n := readDirective(form[i:])
		if end, ok := d.append(b, t); ok {
			b = end
		} else {
			b = append(b, form[i:i+n]...)
		}
		i += n - 1
	}
	return b
}

// A directive is a strftime letter with its flag, or 0.
type directive struct{ flag, letter byte }

// readDirective parses the directive at the start of s and returns its length.
func readDirective(s string) (d directive, n int) {
	n = 1
	if n < len(s) && strings.IndexByte("-_0^", s[n]) >= 0 {
		d.flag = s[n]
		n++
	}
	if n < len(s) && (s[n] == 'E' || s[n] == 'O') {
		n++
	}
	if n < len(s) {
		d.letter = s[n]
		n++
	}
	return d, n
}

func (d directive) append(b []byte, t time.Time) ([]byte, bool) {
	if n, width, pad, ok := d.number(t); ok {
		return d.pad(b, n, width, pad), true
	}
	text, ok := d.text(t)
	if d.flag == '^' {
		text = strings.ToUpper(text)
	}
	return append(b, text...), ok
}

// pad appends n padded to width, unless a flag overrides that.
func (d directive) pad(b []byte, n, width int, pad byte) []byte {
	switch d.flag {
	case '-':
		width = 0
	case '_':
		pad = ' '
	case '0':
		pad = '0'
	}
	digits := strconv.Itoa(n)
	for range width - len(digits) {
		b = append(b, pad)
	}
	return append(b, digits...)
}

// number returns the value, width and padding of a numeric directive.
func (d directive) number(t time.Time) (n, width int, pad byte, ok bool) {
	switch d.letter {
	case 'd':
		return t.Day(), 2, '0', true
	case 'e':
		return t.Day(), 2, ' ', true
	case 'm':
		return int(t.Month()), 2, '0', true
	case 'H':
		return t.Hour(), 2, '0', true
	case 'k':
		return t.Hour(), 2, ' ', true
	case 'I':
		return (t.Hour()+11)%12 + 1, 2, '0', true
	case 'l':
		return (t.Hour()+11)%12 + 1, 2, ' ', true
	case 'M':
		return t.Minute(), 2, '0', true
	case 'S':
		return t.Second(), 2, '0', true
	case 's':
		return int(t.Unix()), 1, '0', true
	}
	return d.dayNumber(t)
}

// dayNumber is number for years, weeks, and days within them.
func (d directive) dayNumber(t time.Time) (n, width int, pad byte, ok bool) {
	year, week := t.ISOWeek()
	day, sinceSunday := t.YearDay()-1, int(t.Weekday())
	sinceMonday := (sinceSunday + 6) % 7
	switch d.letter {
	case 'Y':
		return t.Year(), 1, '0', true
	case 'C':
		return t.Year() / 100, 2, '0', true
	case 'y':
		return t.Year() % 100, 2, '0', true
	case 'G':
		return year, 1, '0', true
	case 'g':
		return year % 100, 2, '0', true
	case 'V':
		return week, 2, '0', true
	case 'U':
		return (day + 7 - sinceSunday) / 7, 2, '0', true
	case 'W':
		return (day + 7 - sinceMonday) / 7, 2, '0', true
	case 'j':
		return t.YearDay(), 3, '0', true
	case 'u':
		return sinceMonday + 1, 1, '0', true
	case 'w':
		return sinceSunday, 1, '0', true
	}
	return 0, 0, 0, false
}

func (d directive) text(t time.Time) (string, bool) {
	if layout := d.layout(); layout != "" {
		return t.Format(layout), true
	}
	switch d.letter {
	case 'P':
		return strings.ToLower(t.Format("PM")), true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	}
	return "", false
}

// layout returns Go's layout for a directive that prints words or several values.
func (d directive) layout() string {
	switch d.letter {
	case 'a':
		return "Mon"
	case 'A':
		return "Monday"
	case 'b', 'h':
		return "Jan"
	case 'B':
		return "January"
	case 'c':
		return "Mon Jan _2 15:04:05 2006"
	case 'D', 'x':
		return "01/02/06"
	case 'F':
		return "2006-01-02"
	case 'p':
		return "PM"
	case 'r':
		return "03:04:05 PM"
	case 'R':
		return "15:04"
	case 'T', 'X':
		return "15:04:05"
	case 'z':
		return "-0700"
	case 'Z':
		return "MST"
	}
	return ""
}

// Strftime formats a time like Python's strftime in the C locale.
func Strftime(form string, t time.Time) string { return string(appendTime(nil, form, t)) }
