package cherrypy

import (
	"net/http"
	"sync"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// stats counts requests, under the names of CherryPy's statistics.
type stats struct {
	mu      sync.Mutex
	started time.Time
	total   int64
	now     int64
	spent   time.Duration
}

func newStats(now time.Time) *stats { return &stats{started: now} }

// begin counts a request; the result ends it.
func (s *stats) begin(_ *http.Request, now time.Time) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	s.now++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
		s.spent += max(0, time.Since(now))
	}
}

// statistics returns what was counted.
func statistics(q *request) error {
	if !q.Door.Stats {
		return q.answer(http.StatusOK, data.NewMap())
	}
	s := q.stats
	s.mu.Lock()
	up := q.Now().Sub(s.started)
	m := data.NewMap("CherryPy Applications", data.NewMap("Enabled", true, "Current Time", auth.Seconds(q.Now()),
		"Start Time", auth.Seconds(s.started), "Uptime", up.Seconds(), "Current Requests", s.now, "Total Requests", s.total,
		"Total Time", s.spent.Seconds(), "Requests/Second", float64(s.total)/max(up.Seconds(), 1e-9)))
	s.mu.Unlock()
	return q.answer(http.StatusOK, m)
}
