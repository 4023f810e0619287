package daemon

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// restartPause is the pause before the next start of a part that has failed often of late.
	restartPause = time.Second
	// tellAgain is how long the failures of a part that goes on to fail are counted and not told.
	tellAgain = time.Minute
)

// A PartState says how a part is.
type PartState struct {
	Name     string
	Running  bool
	Since    time.Time // of its last start or end
	Restarts int
	LastErr  string // "" when it never failed
}

// partState is what a child knows of itself.
type partState struct {
	mu       sync.Mutex
	running  bool
	since    time.Time
	failures int
	lastErr  error
	told     time.Time // when a failure was told last
	untold   int
}

func (s *partState) begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.since = true, time.Now()
}

func (s *partState) stopped(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.since = false, time.Now()
	if err != nil {
		s.failures++
		s.lastErr = err
	}
}

// worthTelling reports whether a failure is to be logged, and how many were not since the last one. The first ones are, and
// of a part that fails all the time one a minute.
func (s *partState) worthTelling() (untold int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.failures > 5 && now.Sub(s.told) < tellAgain {
		s.untold++
		return 0, false
	}
	untold, s.untold, s.told = s.untold, 0, now
	return untold, true
}

func (s *partState) of(name string) PartState {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := PartState{Name: name, Running: s.running, Since: s.since, Restarts: s.failures}
	if s.lastErr != nil {
		p.LastErr, _, _ = strings.Cut(s.lastErr.Error(), "\n")
	}
	return p
}

// tell logs the failure of a part that is started again.
func (c *child) tell(err error) {
	untold, ok := c.state.worthTelling()
	if !ok {
		return
	}
	more := ""
	if untold > 0 {
		more = fmt.Sprintf(" (and %d times before since this was told)", untold)
	}
	c.group.o.Log.Errorf("%s has failed and is started again%s: %v", c.Name, more, err)
}

// Parts returns how each part is, in the order of the start.
func (g *Group) Parts() []PartState {
	g.mu.Lock()
	parts := slices.Clone(g.parts)
	g.mu.Unlock()
	states := make([]PartState, len(parts))
	for i, c := range parts {
		states[i] = c.state.of(c.Name)
	}
	return states
}

// Trouble says in a few words which parts have failed and do not run well; "" is none.
func (g *Group) Trouble() string {
	var bad []string
	for _, p := range g.Parts() {
		if !p.Running && p.LastErr != "" {
			bad = append(bad, fmt.Sprintf("%s failed %d times: %s", p.Name, p.Restarts, p.LastErr))
		}
	}
	return strings.Join(bad, "; ")
}

// Dump lists the parts, a line each.
func (g *Group) Dump() string {
	var b strings.Builder
	for _, p := range g.Parts() {
		state := "stopped"
		if p.Running {
			state = "running"
		}
		fmt.Fprintf(&b, "  %-24s %s since %s, restarts %d", p.Name, state, p.Since.Format(time.RFC3339), p.Restarts)
		if p.LastErr != "" {
			fmt.Fprintf(&b, ", last failure: %s", p.LastErr)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
