package minion

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/schedule"
)

// mineJob is the name of the job that updates the mine (salt/minion.py, add_periodic_callback and
// _post_master_init).
const mineJob = "__mine_interval"

// mineTask returns the task that sends the results of mine_functions to the masters: after the
// start, once the pillar is there, and then every mine_interval. Every is 0 if the mine is
// disabled.
func mineTask(m *Minion) schedule.Task {
	t := schedule.Task{Name: mineJob,
		Fun: "mine.update", Every: max(m.cfg.MineInterval, time.Second), RunOnStart: true,
		Job: data.NewMap("minutes", m.settings.saltOptions().Value("mine_interval"),
			"maxrunning", int64(2), "run_on_start", true, "return_job", m.cfg.MineReturnJob)}
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

// awaitPillar waits until a link is ready: a master has answered the first pillar request.
func (m *Minion) awaitPillar(ctx context.Context) error {
	return m.awaitAny(ctx, func(l *link) <-chan struct{} { return l.ready.done })
}

// awaitAny waits until the channel returned by of is closed for one of the links.
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

// updateMine runs mine.update as a scheduled job, unless there is nothing to send and its return is
// not wanted.
func (m *Minion) updateMine(ctx context.Context) error {
	if !m.cfg.MineReturnJob && !m.hasMineFunctions() || !m.funcs.Has("mine.update") {
		return nil
	}
	return m.jobs.scheduled(ctx, schedule.Call{Name: mineJob,
		Fun: "mine.update", ReturnJob: m.cfg.MineReturnJob, JIDInclude: true, MaxRunning: 1})
}

// hasMineFunctions reports whether mine_functions is set in one of the places where config.merge
// looks.
func (m *Minion) hasMineFunctions() bool {
	pillar := m.Pillar()
	for _, in := range []*data.Map{m.settings.saltOptions(), pillar, subMap(pillar, "master")} {
		if data.Truth(in.Value("mine_functions")) {
			return true
		}
	}
	return false
}

// pillarMineFunctions returns mine_functions of the pillar.
func (m *Minion) pillarMineFunctions() any { return m.Pillar().Value("mine_functions") }

// updateMineIfChanged updates the mine if mine_functions of the pillar differ from before. Salt
// waits for the next interval.
func (m *Minion) updateMineIfChanged(ctx context.Context, before any) error {
	if !m.cfg.MineEnabled || data.Equal(before, m.pillarMineFunctions()) {
		return nil
	}
	return m.updateMine(ctx)
}
