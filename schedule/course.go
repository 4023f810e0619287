package schedule

import (
	"slices"
	"sort"
	"time"
)

// A span is a half-open interval of wall-clock time that includes its end but not its start.
type span struct{ start, end time.Time }

func (s span) has(t time.Time) bool { return t.After(s.start) && !t.After(s.end) }

// A course follows the moments of a rule in wall-clock time. It remembers the time already covered,
// whose moments have fired or were skipped.
type course struct {
	rule  rule
	place *time.Location
	splay func() time.Duration
	lead  time.Duration // how long before the start a moment may be and still count

	now   span // the span covered without a gap
	lived []span
	at    time.Time // next moment; zero means none
	shift time.Duration
}

func (c *course) restart(r reading) {
	c.now, c.lived = span{r.wall.Add(-c.lead), r.wall}, nil
	if c.lead > 0 {
		c.now.end = c.now.start
	}
	c.find()
}

// find finds the first moment that is not covered.
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
		// not marked as covered, so that it comes again if the clock is set back
		return time.Time{}, 0, false
	case r.wall.Sub(c.at.Add(c.shift)) <= late:
		return c.at, c.shift, true
	}
	c.leap(r.wall)
	moment, came = c.missed(r.wall)
	return moment, 0, came
}

// back restarts at a time before the current one.
func (c *course) back(wall time.Time) {
	c.remember(c.now)
	c.now = span{wall, wall}
	c.find()
}

// leap restarts at a later time, minus the period for which missed moments are made up. The time
// skipped is not covered.
func (c *course) leap(wall time.Time) {
	if start := wall.Add(-late); start.After(c.now.end) {
		c.remember(c.now)
		c.now = span{start, start}
	}
}

// missed returns the last moment before now that must be made up.
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
	sort.Slice(c.lived, func(i, j int) bool { return c.lived[i].start.Before(c.lived[j].start) })
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

// retarget replaces the rule from now on.
func (c *course) retarget(next rule, r reading) {
	if r.wall.After(c.now.end) && (c.at.IsZero() || r.wall.Before(c.at)) {
		c.now.end = r.wall
	}
	c.rule = next
	c.find()
}
