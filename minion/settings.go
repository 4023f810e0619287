package minion

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// settings holds the current options. Renew replaces them while other goroutines read them.
type settings struct{ p atomic.Pointer[optionSet] }

type optionSet struct {
	cfg      *config.Minion
	opts     *data.Map // cfg in Salt's form; never modified
	replaced chan struct{}
}

func (s *settings) set(cfg *config.Minion, opts *data.Map) {
	if before := s.p.Swap(&optionSet{cfg, opts, make(chan struct{})}); before != nil {
		close(before.replaced)
	}
}

// pause waits for the duration that long returns for the current options, or indefinitely if it is
// negative. It returns false if the options are replaced in the meantime, and the error of ctx if
// ctx ends.
func (s *settings) pause(
	ctx context.Context, long func(*config.Minion) time.Duration,
) (whole bool, err error) {
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
	case <-h.replaced:
		return false, nil
	case <-end:
		return true, nil
	}
}

// config returns the current options. Do not modify them.
func (s *settings) config() *config.Minion { return s.p.Load().cfg }

// saltOptions returns the current options in Salt's form. Do not modify them.
func (s *settings) saltOptions() *data.Map { return s.p.Load().opts }

// Renew applies a configuration that was read again. cfg must come from config.Minion.Renew, so
// only options that may change at run time differ. Grains are collected again and modules rebuilt.
// After an error nothing has changed.
func (m *Minion) Renew(ctx context.Context, cfg *config.Minion) error {
	if _, err := m.facts.refresh(ctx); err != nil {
		return err
	}
	m.setOptions(cfg)
	m.beacons.SetConfig(cfg.Beacons)
	m.beacons.Refresh()
	m.scheduler.SetConfig(OwnJobs(cfg.Schedule), cfg.Schedules())
	return nil
}
