package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// TimeFormat is the default format of times.
const TimeFormat = "%Y-%m-%dT%H:%M:%S"

// FormatTime formats the clock time of t like Python's strftime in the C locale. Unknown directives
// are kept unchanged.
func FormatTime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		b.WriteString(formatOne(t, format[i]))
	}
	return b.String()
}

func formatOne(t time.Time, directive byte) string {
	switch directive {
	case '%':
		return "%"
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	}
	if layout := goLayout(directive); layout != "" {
		return t.Format(layout)
	}
	return "%" + string(directive)
}

// goLayout returns Go's layout for a directive, or "".
func goLayout(directive byte) string {
	switch directive {
	case 'Y':
		return "2006"
	case 'y':
		return "06"
	case 'm':
		return "01"
	case 'd':
		return "02"
	case 'e':
		return "_2"
	case 'H':
		return "15"
	case 'I':
		return "03"
	case 'M':
		return "04"
	case 'S':
		return "05"
	case 'p':
		return "PM"
	case 'a':
		return "Mon"
	case 'A':
		return "Monday"
	case 'b', 'h':
		return "Jan"
	case 'B':
		return "January"
	}
	return goLayouts(directive)
}

func goLayouts(directive byte) string {
	switch directive {
	case 'Z':
		return "MST"
	case 'z':
		return "-0700"
	case 'F':
		return "2006-01-02"
	case 'T', 'X':
		return "15:04:05"
	case 'R':
		return "15:04"
	case 'D', 'x':
		return "01/02/06"
	case 'c':
		return time.ANSIC
	}
	return ""
}
