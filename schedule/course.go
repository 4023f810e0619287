package schedule

import (
	"slices"
	"time"
)

// A span is a stretch of wall-clock time, without its start and with its end.
type span struct{ start, end time.Time }

func (s span) has(t time.Time) bool { return t.After(s.start) && !t.After(s.end) }

// A course is the way of a rule through the time of the wall clock. It knows the time that it has lived through, where moments
// have fired or were let go.
type course struct {
	rule  rule
	place *time.Location
	splay func() time.Duration
	lead  time.Duration // how long before its start a moment may lie that still counts

	now   span // lived through without a break
	lived []span
	at    time.Time // the next moment; zero for none
	shift time.Duration
}

func (c *course) restart(r reading) {
	c.now, c.lived = span{r.wall.Add(-c.lead), r.wall}, nil
	if c.lead > 0 {
		c.now.end = c.now.start
	}
	c.find()
}

// find looks for the first moment that was not lived through.
func (c *course) find() {
	c.at, c.shift = time.Time{}, 0
	for after := c.now.end; ; {
		at, ok := nextInstant(c.rule, after, c.place)
		if !ok {
			return
		}
		i := slices.IndexFunc(c.lived, func(s span) bool { return s.has(at) })
		if i < 0 {
			c.at, c.shift = at, c.splay()
			return
		}
		after = c.lived[i].end
	}
}

func (c *course) due(reading) (time.Time, bool) { return c.at, !c.at.IsZero() }

func (c *course) delay() time.Duration { return c.shift }

func (c *course) wait(r reading) (time.Duration, bool) {
	if c.at.IsZero() {
		return 0, false
	}
	return min(max(c.at.Add(c.shift).Sub(r.wall), 0), lookAgain), true
}

func (c *course) pass(r reading) (moment time.Time, splay time.Duration, came bool) {
	if r.wall.Before(c.now.end) {
		c.back(r.wall)
	}
	switch {
	case c.at.IsZero() || r.wall.Before(c.at):
		c.now.end = r.wall
		return time.Time{}, 0, false
	case r.wall.Before(c.at.Add(c.shift)):
		return time.Time{}, 0, false // and not lived through, so that it comes again when the clock is put back
	case r.wall.Sub(c.at.Add(c.shift)) <= late:
		return c.at, c.shift, true
	}
	c.leap(r.wall)
	moment, came = c.missed(r.wall)
	return moment, 0, came
}

// back begins anew at a time before the present one.
func (c *course) back(wall time.Time) {
	c.remember(c.now)
	c.now = span{wall, wall}
	c.find()
}

// leap begins anew so much before a later time as is made up for; what it leaps over was not lived through.
func (c *course) leap(wall time.Time) {
	if start := wall.Add(-late); start.After(c.now.end) {
		c.remember(c.now)
		c.now = span{start, start}
	}
}

// missed returns the last moment before now of those that are made up for.
func (c *course) missed(wall time.Time) (last time.Time, found bool) {
	for {
		c.find()
		if c.at.IsZero() || c.at.After(wall) {
			break
		}
		last, found, c.now.end = c.at, true, c.at
	}
	c.now.end = wall
	return last, found
}

func (c *course) remember(s span) {
	if !s.end.After(s.start) {
		return
	}
	c.lived = append(c.lived, s)
	slices.SortFunc(c.lived, func(a, b span) int { return a.start.Compare(b.start) })
	merged := c.lived[:1]
	for _, s := range c.lived[1:] {
		if last := &merged[len(merged)-1]; !s.start.After(last.end) {
			last.end = later(last.end, s.end)
		} else {
			merged = append(merged, s)
		}
	}
	c.lived = merged[max(len(merged)-mostSpans, 0):]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (c *course) advance(r reading) {
	c.now.end = r.wall
	c.find()
}

func (c *course) idle(r reading) {
	if r.wall.Before(c.now.end) {
		c.back(r.wall)
	}
	c.leap(r.wall)
	c.advance(r)
}

// retarget gives the course another rule from here on.
func (c *course) retarget(next rule, r reading) {
	if r.wall.After(c.now.end) && (c.at.IsZero() || r.wall.Before(c.at)) {
		c.now.end = r.wall
	}
	c.rule = next
	c.find()
}
