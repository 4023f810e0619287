package minion

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/schedule"
)

// mineJob is the name of the job that sends results to the mine (salt/minion.py, add_periodic_callback and _post_master_init).
const mineJob = "__mine_interval"

// mineTask sends the results of mine_functions to the masters: when the pillar is there after the start, and every mine_interval.
// Every is 0 when that is not wanted.
func mineTask(m *Minion) schedule.Task {
	t := schedule.Task{Name: mineJob, Fun: "mine.update", Every: max(m.cfg.MineInterval, time.Second), RunOnStart: true,
		Job: data.NewMap("minutes", m.settings.all().Value("mine_interval"), "maxrunning", int64(2), "run_on_start", true, "return_job", m.cfg.MineReturnJob)}
	if !m.cfg.MineEnabled || m.cfg.MineInterval <= 0 || len(m.links) == 0 {
		t.Every = 0
	}
	t.Do = func(ctx context.Context) error {
		if err := m.awaitPillar(ctx); err != nil {
			return nil // the minion ends
		}
		return m.updateMine(ctx)
	}
	return t
}

// awaitPillar returns when the first answer of a master about the pillar has come.
func (m *Minion) awaitPillar(ctx context.Context) error {
	return m.awaitAny(ctx, func(l *link) <-chan struct{} { return l.ready })
}

// awaitAny returns when that channel of one of the links is closed.
func (m *Minion) awaitAny(ctx context.Context, of func(*link) <-chan struct{}) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	closed := make(chan struct{}, len(m.links))
	for _, l := range m.links {
		go func() {
			select {
			case <-of(l):
				closed <- struct{}{}
			case <-waiting.Done():
			}
		}()
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// updateMine runs mine.update as a job of the schedule, unless there is nothing to send and nobody waits for a return.
func (m *Minion) updateMine(ctx context.Context) error {
	if !m.cfg.MineReturnJob && !m.minesAnything() || !m.funcs.Has("mine.update") {
		return nil
	}
	return m.jobs.scheduled(ctx, schedule.Call{Name: mineJob, Fun: "mine.update", ReturnJob: m.cfg.MineReturnJob, JIDInclude: true, MaxRunning: 1})
}

// minesAnything reports whether mine_functions is set in one of the places of config.merge.
func (m *Minion) minesAnything() bool {
	pillar := m.Pillar()
	for _, in := range []*data.Map{m.settings.all(), pillar, mapIn(pillar, "master")} {
		if data.Truth(in.Value("mine_functions")) {
			return true
		}
	}
	return false
}

// minedByPillar returns what the pillar says about the mine.
func (m *Minion) minedByPillar() any { return m.Pillar().Value("mine_functions") }

// mineAnew sends results when the pillar says something else about the mine than before. Salt does so with the next interval.
func (m *Minion) mineAnew(ctx context.Context, before any) error {
	if !m.cfg.MineEnabled || data.Equal(before, m.minedByPillar()) {
		return nil
	}
	return m.updateMine(ctx)
}
