package daemon

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// restartPause is the pause before a part is restarted after repeated failures.
	restartPause = time.Second
	// toldFailures is the number of failures logged per part; after that one per minute is logged.
	toldFailures = 5
)

// A PartState is the state of a part.
type PartState struct {
	Name     string
	Running  bool
	Since    time.Time // time of its last start or end
	Restarts int
	LastErr  string // "" if it never failed
}

// partState is the mutable state of a child.
type partState struct {
	mu       sync.Mutex
	running  bool
	since    time.Time
	failures int
	lastErr  error
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

func (s *partState) of(name string) PartState {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := PartState{Name: name, Running: s.running, Since: s.since, Restarts: s.failures}
	if s.lastErr != nil {
		p.LastErr, _, _ = strings.Cut(s.lastErr.Error(), "\n")
	}
	return p
}

// tell logs the failure of a part that is restarted.
func (c *child) tell(err error) {
	untold, ok := c.told.Allow("")
	if !ok {
		return
	}
	more := ""
	if untold > 0 {
		more = fmt.Sprintf(" (and %d times before since this was told)", untold)
	}
	c.group.o.Log.Errorf("%s has failed and is started again%s: %v", c.Name, more, err)
}

// Parts returns the states of all parts in start order.
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

// Trouble names the parts that have failed and are not running well, or returns "".
func (g *Group) Trouble() string {
	var bad []string
	for _, p := range g.Parts() {
		if !p.Running && p.LastErr != "" {
			bad = append(bad, fmt.Sprintf("%s failed %d times: %s", p.Name, p.Restarts, p.LastErr))
		}
	}
	return strings.Join(bad, "; ")
}

// Dump lists the parts, one per line.
func (g *Group) Dump() string {
	var b strings.Builder
	for _, p := range g.Parts() {
		state := "stopped"
		if p.Running {
			state = "running"
		}
		fmt.Fprintf(&b, "  %-24s %s since %s, restarts %d", p.Name, state,
			p.Since.Format(time.RFC3339), p.Restarts)
		if p.LastErr != "" {
			fmt.Fprintf(&b, ", last failure: %s", p.LastErr)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
