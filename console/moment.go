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

// ago returns how long ago something was.
func ago(d time.Duration) string {
	d = max(d, 0)
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, " d"}, {time.Hour, " h"}, {time.Minute, " min"}} {
		if d >= unit.size {
			return strconv.Itoa(int(d/unit.size)) + unit.name + " ago"
		}
	}
	return strconv.Itoa(int(d/time.Second)) + " s ago"
}
