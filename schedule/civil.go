package schedule

import "time"

// civil returns the local clock time at t in a place, as a time in UTC.
func civil(t time.Time, place *time.Location) time.Time {
	t = t.In(place)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(),
		t.Nanosecond(), time.UTC)
}

// instant returns the instant at which local clocks first show n, a time in UTC. If daylight saving
// time skips n, it returns the end of the gap. The result is monotonic in n.
func instant(n time.Time, place *time.Location) time.Time {
	for t := n.Add(-26 * time.Hour).In(place); ; {
		_, offset := t.Zone()
		start, end := t.ZoneBounds()
		at := n.Add(-time.Duration(offset) * time.Second)
		switch {
		case !start.IsZero() && at.Before(start):
			return start.In(place)
		case end.IsZero() || at.Before(end):
			return at.In(place)
		}
		t = end.In(place)
	}
}

// A rule yields moments in civil time.
type rule interface {
	// next returns the first moment after n. ok is false if there is none.
	next(n time.Time) (moment time.Time, ok bool)
}

// nextInstant returns the first moment of r after an instant.
func nextInstant(r rule, after time.Time, place *time.Location) (time.Time, bool) {
	for n := civil(after, place); ; {
		var ok bool
		if n, ok = r.next(n); !ok {
			return time.Time{}, false
		}
		if t := instant(n, place); t.After(after) {
			return t, true
		}
	}
}
