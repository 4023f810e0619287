package minion

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
)

// settings are the options that hold now; Renew replaces them while parts of the minion read them.
type settings struct{ p atomic.Pointer[held] }

type held struct {
	cfg  *config.Minion
	opts *data.Map // all of cfg in Salt's form; never changed
	over chan struct{}
}

func (s *settings) set(cfg *config.Minion, opts *data.Map) {
	if before := s.p.Swap(&held{cfg, opts, make(chan struct{})}); before != nil {
		close(before.over)
	}
}

// pause waits as long as the options say, for ever when that is negative. It reports false when they were replaced
// meanwhile; the error is that of ctx.
func (s *settings) pause(ctx context.Context, long func(*config.Minion) time.Duration) (whole bool, err error) {
	h := s.p.Load()
	var end <-chan time.Time
	if d := long(h.cfg); d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		end = t.C
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-h.over:
		return false, nil
	case <-end:
		return true, nil
	}
}

// now returns the options of the minion. They must not be changed.
func (s *settings) now() *config.Minion { return s.p.Load().cfg }

// all returns the options in Salt's form. They must not be changed.
func (s *settings) all() *data.Map { return s.p.Load().opts }

func newMinion(cfg *config.Minion, opts *data.Map, o Options) *Minion {
	m := &Minion{cfg: cfg, settings: &settings{}, opts: o, log: o.Log}
	m.settings.set(cfg, opts)
	m.group = daemon.NewGroup(daemon.GroupOptions{Name: "the minion", Stop: stopLimit, Log: o.Log})
	return m
}

// Renew puts the options of a configuration in force that was read again. It is what config.Minion.Renew returned, so
// that only those differ that may. Grains are collected and functions built anew; after an error nothing has changed.
func (m *Minion) Renew(ctx context.Context, cfg *config.Minion) error {
	if _, err := m.facts.refresh(ctx); err != nil {
		return err
	}
	opts := cfg.Map()
	m.settings.set(cfg, opts)
	m.returners.SetOptions(opts)
	m.funcs.SetOptions(opts)
	m.scheduler.SetConfig(OwnJobs(cfg.Schedule), cfg.Schedules())
	return nil
}
