package minion

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/schedule"
)

// runStartup runs startup_states once: after the start was announced to a master, or at once if
// there is no master. Then it waits until ctx ends (salt/minion.py, _state_run).
func (m *Minion) runStartup(ctx context.Context) error {
	fun, args := m.startupCall()
	if fun == "" || m.startupDone.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if len(m.links) > 0 {
		announced := func(l *link) <-chan struct{} { return l.announced.done }
		if err := m.awaitAny(ctx, announced); err != nil {
			return err
		}
	} else if !m.compilesPillar() {
		m.log.Warn("startup_states is not run: master_type: disable requires file_client: local")
		fun = ""
	}
	m.startupDone.Store(true)
	if fun != "" {
		m.jobs.startup(fun, args)
	}
	<-ctx.Done()
	return ctx.Err()
}

// startupCall returns the function and arguments for startup_states, or "" if the option is not
// set.
func (m *Minion) startupCall() (fun string, args []any) {
	switch m.cfg.StartupStates {
	case "":
		return "", nil
	case "sls":
		list := make([]any, len(m.cfg.SLSList))
		for i, sls := range m.cfg.SLSList {
			list[i] = sls
		}
		return "state.sls", []any{list}
	case "top":
		return "state.top", []any{m.cfg.TopFile}
	}
	return "state.highstate", nil
}

// startup runs a function as a job of the minion itself, and sends its return like those of other
// jobs.
func (j *jobs) startup(fun string, args []any) {
	r := j.newScheduled(schedule.Call{Fun: fun, Args: args})
	r.load.Delete("schedule")
	r.pub.Ret = data.Str(j.settings.saltOptions().Value("ext_job_cache"))
	if r.pub.Ret == "None" {
		r.pub.Ret = ""
	}
	j.registerScheduled(r)
	if _, ok := j.work.add(func() { j.runStartup(r) }, 0); !ok {
		r.cancel(nil)
		j.unregisterScheduled(r)
		j.log.Errorf("startup_states is not run: too many jobs are waiting")
	}
}

func (j *jobs) runStartup(r *running) {
	defer r.cancel(nil)
	defer j.unregisterScheduled(r)
	ret := j.execute(r)
	j.log.Infof("Returning information for job: %s", r.pub.JID)
	j.cache(ret)
	j.dispatchReturn(r, ret)
	sent := *ret
	sent.JID, sent.Extra = job.Req, data.NewMap(job.OwnID, string(r.pub.JID))
	for _, l := range j.m.active() {
		l.courier.deliver(&sent)
	}
}
