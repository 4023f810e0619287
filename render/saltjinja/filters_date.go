package saltjinja

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// dateFilters returns the filters of salt/utils/dateutils.py, as they are without the library
// timelib: dates are seconds since 1970.
func dateFilters() map[string]jinja.Func {
	return map[string]jinja.Func{"date_format": formatDate, "strftime": formatDate}
}

func formatDate(c *jinja.Call) (any, error) {
	p := bind(c, "strftime", "date=", "format=")
	format, ok := textOf(p.or(1, "%Y-%m-%d"))
	if !ok {
		p.note(typeError(p.args[1], "strftime() argument 1 must be str, not "+
			jinja.TypeName(p.args[1])))
	}
	when, err := castDate(p.or(0, nil))
	p.note(err)
	if p.err != nil {
		return nil, p.err
	}
	return strftime(when, format), nil
}

func castDate(v any) (time.Time, error) {
	var seconds float64
	var ok bool
	switch d := v.(type) {
	case nil:
		return time.Now(), nil
	case time.Time:
		return d, nil
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(d), 64)
		seconds, ok = f, err == nil
	case *jinja.Undefined:
		return time.Time{}, defined(v)
	default:
		seconds, ok = asFloat(v)
	}
	if !ok || math.IsNaN(seconds) || math.Abs(seconds) > 253402300799 {
		return time.Time{}, jinja.Raise(jinja.PythonError,
			"Unable to parse %s. Consider installing timelib", data.Str(plain(v)))
	}
	whole := math.Floor(seconds)
	return time.Unix(int64(whole), int64((seconds-whole)*1e9)), nil
}

// strftime is Python's, in the locale C.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		c, plainNumber := format[i], false
		if c == '-' && i+1 < len(format) {
			i++
			c, plainNumber = format[i], true
		}
		text, ok := directive(t, c)
		switch {
		case !ok:
			b.WriteString("%" + string(c))
		case plainNumber && len(text) > 1:
			b.WriteString(strings.TrimLeft(text[:len(text)-1], "0 ") + text[len(text)-1:])
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

func directive(t time.Time, c byte) (string, bool) {
	layouts := map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan",
		'c': "Mon Jan _2 15:04:05 2006", 'd': "02", 'D': "01/02/06",
		'e': "_2", 'F': "2006-01-02", 'H': "15", 'I': "03", 'j': "002", 'm': "01", 'M': "04",
		'p': "PM", 'r': "03:04:05 PM", 'R': "15:04", 'S': "05", 'T': "15:04:05", 'x': "01/02/06",
		'X': "15:04:05", 'y': "06", 'Y': "2006",
	}
	if layout, ok := layouts[c]; ok {
		return t.Format(layout), true
	}
	year, week := t.ISOWeek()
	switch c {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'z', 'Z':
		return "", true // a date without a zone
	case 'f':
		return pad(t.Nanosecond()/1000, 6), true
	case 'C':
		return pad(t.Year()/100, 2), true
	case 'g':
		return pad(year%100, 2), true
	case 'G':
		return strconv.Itoa(year), true
	case 'V':
		return pad(week, 2), true
	case 'k':
		return strings.Repeat(" ", boolInt(t.Hour() < 10)) + strconv.Itoa(t.Hour()), true
	case 'l':
		h := (t.Hour()+11)%12 + 1
		return strings.Repeat(" ", boolInt(h < 10)) + strconv.Itoa(h), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1), true
	case 'w':
		return strconv.Itoa(int(t.Weekday())), true
	case 'U':
		return pad((t.YearDay()+6-int(t.Weekday()))/7, 2), true
	case 'W':
		return pad((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2), true
	}
	return "", false
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func pad(n, width int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(0, width-len(s))) + s
}
