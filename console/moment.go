package console

import (
	"strconv"
	"time"
)

// A moment is a time as pages show it.
type moment struct {
	Text string // absolute, in UTC
	Ago  string // from now
	ISO  string // for the attribute datetime
}

// moment returns a time for a page; the zero time is empty.
func (q *request) moment(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	t = t.UTC()
	return moment{t.Format("2006-01-02 15:04:05") + " UTC", ago(q.Now().Sub(t)), t.Format(time.RFC3339)}
}

// startMoment returns when a job has started, as its id says it; empty for an id that says nothing.
func (q *request) startMoment(jid string) moment {
	at, err := startOf(jid)
	if err != nil {
		return moment{}
	}
	return q.moment(at)
}

// A timeUnit is a unit in which pages say time spans.
type timeUnit struct {
	size        time.Duration
	short, name string
}

// largestUnit returns the largest unit of which a time span has one or more. ok is false for less than a
// minute.
func largestUnit(d time.Duration) (unit timeUnit, ok bool) {
	for _, unit := range []timeUnit{
		{24 * time.Hour, "d", "day"}, {time.Hour, "h", "hour"}, {time.Minute, "min", "minute"},
	} {
		if d >= unit.size {
			return unit, true
		}
	}
	return timeUnit{time.Second, "s", "second"}, false
}

// ago returns how long ago something was, for a table.
func ago(d time.Duration) string {
	unit, _ := largestUnit(d)
	return strconv.Itoa(int(max(d, 0)/unit.size)) + " " + unit.short + " ago"
}

// timeSpan returns a time span in words, in its largest unit.
func timeSpan(d time.Duration) string {
	unit, ok := largestUnit(d)
	if !ok {
		return "less than a minute"
	}
	return count(int(d/unit.size), unit.name)
}
