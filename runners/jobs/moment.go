package jobs

import (
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
)

// A moment is a date and time without a zone, as in job IDs.
type moment struct{ time.Time }

// dates and clocks return the accepted formats of a moment, out of the many that Python's dateutil
// reads.
func dates() []string {
	return []string{"2006, Jan 2", "2006, January 2", "2006-1-2", "2006/1/2", "20060102",
		"2 Jan 2006", "2 January 2006", "Jan 2 2006", "January 2 2006",
		"Jan 2, 2006", "January 2, 2006", "1/2/2006", "2.1.2006", "Mon Jan 2 2006",
		"Mon, 2 Jan 2006"}
}

func clocks() []string {
	return []string{"", "15:04:05.999999999", "15:04:05", "15:04", "3:04 PM", "3:04PM", "3PM"}
}

// momentOf parses an argument; nil if it is empty. A time without a date means today.
func momentOf(v any) (*moment, error) {
	if !data.Truth(v) {
		return nil, nil
	}
	text, ok := v.(string)
	if t, isTime := v.(time.Time); isTime {
		return &moment{t}, nil
	}
	if !ok {
		return nil, loader.TypeError("Parser must be a string or character stream, not %s",
			loader.TypeName(v))
	}
	t, ok := parse(strings.Join(strings.Fields(text), " "))
	if !ok {
		return nil, loader.Exception("dateutil.parser._parser.ParserError",
			"Unknown string format: %s", text)
	}
	return &moment{t}, nil
}

func parse(text string) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(),
			t.Nanosecond(), time.UTC), true
	}
	for _, date := range dates() {
		for _, clock := range clocks() {
			for _, between := range []string{" ", "T"} {
				if t, err := time.Parse(strings.TrimSuffix(date+between+clock, between),
					text); err == nil {
					return t, true
				}
			}
		}
	}
	for _, clock := range clocks()[1:] {
		if t, err := time.Parse(clock, text); err == nil {
			now := time.Now()
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(),
				t.Nanosecond(), time.UTC), true
		}
	}
	return time.Time{}, false
}

// fitsTime reports whether a job started in the requested period.
func (s *search) fitsTime(jid string) bool {
	if s.since == nil && s.until == nil {
		return true
	}
	start, err := job.ID(jid).Time()
	if err != nil {
		return false
	}
	return (s.since == nil || !start.Before(s.since.Time)) &&
		(s.until == nil || !start.After(s.until.Time))
}
