package minion

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/schedule"
)

// scheduleTag is the tag of the event that carries the return of a scheduled job on the minion's
// bus.
const scheduleTag = "__schedule_return"

// newScheduler returns a scheduler for the jobs of the options and the pillar.
func newScheduler(m *Minion) (*schedule.Scheduler, error) {
	s, err := schedule.New(schedule.Options{
		Jobs: OwnJobs(m.cfg.Schedule), Files: m.cfg.Schedules(), Pillar: subMap(m.Pillar(),
			"schedule"), Whens: m.whens, File: m.scheduleFile(),
		Now: m.opts.Now, Run: m.jobs.scheduled, Running: m.jobs.countScheduled,
		Known: func(fun string) bool { return m.funcs.Has(fun) }, Log: m.log,
	})
	if err != nil {
		return nil, err
	}
	for _, task := range []schedule.Task{refreshTask(m), mineTask(m)} {
		if task.Every > 0 {
			err = errors.Join(err, s.Add(task))
		}
	}
	return s, err
}

// OwnJobs returns jobs without those that Salt's minion saves for itself in the same file. Their
// names begin with two underscores.
func OwnJobs(jobs *data.Map) *data.Map {
	own := &data.Map{}
	for k, v := range jobs.All() {
		if name, ok := k.(string); !ok || !strings.HasPrefix(name, "__") {
			own.Set(k, v)
		}
	}
	return own
}

// refreshTask returns the task for grains_refresh_every. Every is 0 if the option is not set.
func refreshTask(m *Minion) schedule.Task {
	return schedule.Task{Name: "__update_grains", Fun: "event.fire",
		Every: m.cfg.GrainsRefreshEvery,
		Job: data.NewMap("args", []any{data.NewMap(), "grains_refresh"},
			"minutes", m.settings.saltOptions().Value("grains_refresh_every")),
		Do: func(context.Context) error { return m.bus.Fire("grains_refresh", data.NewMap()) }}
}

// subMap returns the map with that name, or nil.
func subMap(m *data.Map, name string) *data.Map {
	in, _ := m.Value(name).(*data.Map)
	return in
}

// whens returns the named times of the pillar, or else of the grains.
func (m *Minion) whens() *data.Map {
	if w := subMap(m.Pillar(), "whens"); w != nil {
		return w
	}
	return subMap(m.Grains(), "whens")
}

// scheduleFile returns the path to which schedule changes are saved (salt/utils/schedule.py,
// persist).
func (m *Minion) scheduleFile() string {
	opts := m.settings.saltOptions()
	return filepath.Join(filepath.Dir(m.cfg.ConfFile), filepath.Dir(opts.Text("default_include")),
		"_schedule.conf")
}

// runSchedule runs the scheduler until ctx ends. It first waits for a master to accept the minion,
// unless scheduler_before_connect is on.
func (m *Minion) runSchedule(ctx context.Context) error {
	if len(m.links) > 0 && !m.cfg.SchedulerBeforeConnect {
		if err := m.awaitMaster(ctx); err != nil {
			return err
		}
	}
	return m.scheduler.Run(ctx)
}

// awaitMaster waits until one of the masters accepts the minion.
func (m *Minion) awaitMaster(ctx context.Context) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	open := make(chan error, len(m.links))
	for _, l := range m.links {
		go func() { open <- l.gate.wait(waiting) }()
	}
	return <-open
}

// manageSchedule handles requests of the module schedule and fires the reply.
func (l *local) manageSchedule(ctx context.Context, _ string, load *data.Map) error {
	tag, body, err := l.m.scheduler.Manage(ctx, load)
	if tag != "" {
		if e := l.m.bus.Fire(tag, body); e != nil {
			return e
		}
	}
	return err
}

// countScheduled returns the number of running instances of a scheduled job.
func (j *jobs) countScheduled(name string) int {
	n := 0
	for _, r := range j.all() {
		if r.schedule == name {
			n++
		}
	}
	return n
}

// scheduled runs one firing of a scheduled job (salt/utils/schedule.py, handle_func). It returns
// when the job or ctx ends. A job that outlives ctx is treated like other jobs when the minion
// ends.
func (j *jobs) scheduled(ctx context.Context, c schedule.Call) error {
	r := j.newScheduled(c)
	done := make(chan struct{})
	if _, ok := j.work.add(func() { defer close(done); j.runScheduled(r, c) }, 0); !ok {
		r.cancel(nil)
		j.log.Errorf("scheduled job %s is not run: too many jobs are waiting", c.Name)
		return nil
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	return nil
}

// newScheduled creates the job of a firing.
func (j *jobs) newScheduled(c schedule.Call) *running {
	pub := &job.Publication{JID: j.ids.Next(), Fun: []string{c.Fun},
		Arg: loader.ConditionInput(c.Args, c.Kwargs), Target: j.id, TargetType: "glob"}
	r := &running{pub: pub, tree: process.NewTree(), schedule: c.Name, own: true}
	if len(j.m.links) > 0 {
		r.link = j.m.active()[0]
	}
	funArgs := c.Args
	if c.Kwargs != nil {
		funArgs = append(append([]any{}, c.Args...), c.Kwargs)
	}
	r.load = data.NewMap("id", j.id, "fun", c.Fun, "fun_args", listOf(funArgs),
		"schedule", c.Name, "jid", string(pub.JID), "pid", int64(os.Getpid()))
	if c.Metadata != nil {
		r.load.Set("metadata", c.Stamp(j.m.opts.Now(), time.Now().Format("-0700")))
	}
	r.tree.Watch(j.programs.watch(string(pub.JID)))
	r.ctx, r.cancel = context.WithCancelCause(process.WithTree(context.Background(), r.tree))
	return r
}

func listOf(list []any) []any {
	if list == nil {
		return []any{}
	}
	return list
}

// runScheduled calls the function of a scheduled job and sends its return to returners, masters and
// the bus.
func (j *jobs) runScheduled(r *running, c schedule.Call) {
	defer r.cancel(nil)
	j.mu.Lock()
	j.aside[r] = struct{}{}
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.aside, r)
	}()
	if c.JIDInclude {
		j.registerScheduled(r)
		defer j.unregisterScheduled(r)
	}
	j.log.Infof("Running scheduled job: %s with jid %s", c.Name, r.pub.JID)
	r.ctx = loader.WithContext(r.ctx, &loader.Context{})
	value, retcode, success := schedule.Outcome(c.Fun, j.call(r, c.Fun, r.pub.Arg))
	ret := r.load.Clone()
	ret.Set("return", value)
	ret.Set("retcode", int64(retcode))
	ret.Set("success", success)
	returned := j.dispatchScheduled(c, ret)
	if c.ReturnJob {
		j.sendScheduled(r, c, ret, returned)
	}
}

func (j *jobs) registerScheduled(r *running) {
	j.mu.Lock()
	j.running[r.pub.JID] = r
	j.mu.Unlock()
	load := r.load.Clone()
	load.Set(sharedField, false)
	if err := j.proc.write(string(r.pub.JID), load); err != nil {
		j.log.WithError(err).Errorf("scheduled job %s: write proc file", r.pub.JID)
	}
}

func (j *jobs) unregisterScheduled(r *running) {
	j.mu.Lock()
	delete(j.running, r.pub.JID)
	j.mu.Unlock()
	if err := j.proc.remove(string(r.pub.JID)); err != nil {
		j.log.WithError(err).Errorf("scheduled job %s: remove proc file", r.pub.JID)
	}
}

// dispatchScheduled sends a return to the returners of its job, and reports whether any was named.
func (j *jobs) dispatchScheduled(c schedule.Call, ret *data.Map) bool {
	names := c.Returners
	if common := data.Str(j.settings.saltOptions().Value("schedule_returner")); common != "" &&
		common != "None" {
		names = append([]string{common}, names...)
	}
	if len(names) == 0 {
		return false
	}
	m := ret.Clone()
	for name, v := range map[string]any{"ret_config": c.ReturnConfig,
		"ret_kwargs": c.ReturnKwargs} {
		if v != nil {
			m.Set(name, v)
		}
	}
	j.returners.dispatch(names, m)
	return true
}

// sendScheduled fires the return on the bus and sends it to the masters.
func (j *jobs) sendScheduled(r *running, c schedule.Call, ret *data.Map, returned bool) {
	load := &job.Return{ID: j.id, JID: c.ReturnID(r.pub.JID, returned), Fun: c.Fun,
		FunArgs: ret.Value("fun_args"), Value: ret.Value("return"),
		Retcode: ret.Value("retcode"), Success: ret.Value("success"),
		Metadata: ret.Value("metadata"),
		Extra:    data.NewMap("schedule", c.Name, "pid", int64(os.Getpid()))}
	if err := j.m.bus.Fire(scheduleTag, load.Map()); err != nil {
		j.log.WithError(err).Errorf("fire return of scheduled job %s", c.Name)
	}
	load.Extra.Set(job.OwnID, string(r.pub.JID))
	for _, l := range j.m.active() {
		l.courier.deliver(load)
	}
}
