package master

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

// memoryJobs is a job cache in memory. It keeps the contract as far as the tests of this package
// look.
type memoryJobs struct {
	mu      sync.Mutex
	jobs    map[job.ID]*returners.Job
	returns map[job.ID][]returners.Return
}

func newMemoryJobs() *memoryJobs {
	return &memoryJobs{jobs: map[job.ID]*returners.Job{}, returns: map[job.ID][]returners.Return{}}
}

func (m *memoryJobs) SaveJob(_ context.Context, j *returners.Job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.jobs[j.ID]; !ok {
		m.jobs[j.ID] = j
	}
	return nil
}

func (m *memoryJobs) SaveReturn(_ context.Context, id job.ID, r *returners.Return) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.jobs[id]; !ok {
		return false, returners.ErrUnknownJob
	}
	for _, old := range m.returns[id] {
		if old.Minion == r.Minion {
			if slices.Equal(old.Load, r.Load) {
				return false, nil
			}
			return false, returners.ErrConflict
		}
	}
	m.returns[id] = append(m.returns[id], *r)
	return true, nil
}

func (m *memoryJobs) AddMinions(_ context.Context, id job.ID, ids []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs[id] == nil {
		return returners.ErrUnknownJob
	}
	more := *m.jobs[id]
	more.Minions = merge(more.Minions, ids)
	m.jobs[id] = &more
	return nil
}

func (m *memoryJobs) Job(_ context.Context, id job.ID) (*returners.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j, ok := m.jobs[id]; ok {
		return j, nil
	}
	return nil, returners.ErrUnknownJob
}

func (m *memoryJobs) Returns(_ context.Context, id job.ID) ([]returners.Return, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.returns[id]), nil
}

func (m *memoryJobs) Jobs(context.Context, returners.Filter) ([]returners.Job, error) {
	return nil, nil
}
func (m *memoryJobs) Clean(context.Context, time.Time) (int, error) { return 0, nil }
func (m *memoryJobs) Close() error                                  { return nil }

// all returns the ids of the jobs kept.
func (m *memoryJobs) all() []job.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := make([]job.ID, 0, len(m.jobs))
	for id := range m.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// wire is a publish port that keeps what it is given.
type wire struct {
	watch transport.PeerWatch

	mu   sync.Mutex
	sent []transport.Message
}

func (w *wire) Publish(m transport.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, m)
}

func (w *wire) messages() []transport.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

func (w *wire) Serve(ctx context.Context) error { <-ctx.Done(); return nil }
func (w *wire) Peers() int                      { return 0 }
func (w *wire) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1),
		Port: 4505}
}
func (w *wire) Stats() transport.Stats { return transport.Stats{} }
func (w *wire) Close() error           { return nil }

func (w *wire) WatchPeers(f transport.PeerWatch) { w.watch = f }

// connect gives minions connections that they have proved to be theirs.
func (w *wire) connect(ids ...string) {
	for _, id := range ids {
		transport.NewPeerReport(w.watch, transport.Peer{Addr: w.Addr(), ID: id, Topics: []string{""}})
	}
}

// silent is a log that says nothing.
func silent(t testing.TB) *logrus.Logger {
	log := logrus.New()
	log.SetOutput(t.Output())
	log.SetLevel(logrus.DebugLevel)
	return log
}
