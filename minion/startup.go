package minion

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/schedule"
)

// runStartup applies the states that startup_states names, once: when a master knows of the start, or at once on a minion
// without a master. Then it waits for the end of ctx (salt/minion.py, _state_run).
func (m *Minion) runStartup(ctx context.Context) error {
	fun, args := m.startupCall()
	if fun == "" || m.begun.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if len(m.links) > 0 {
		if err := m.awaitAny(ctx, func(l *link) <-chan struct{} { return l.announced }); err != nil {
			return err
		}
	} else if !m.ownPillar() {
		m.log.Warn("startup_states is not carried out: with master_type: disable the states must come from file_client: local")
		fun = ""
	}
	m.begun.Store(true)
	if fun != "" {
		m.jobs.startup(fun, args)
	}
	<-ctx.Done()
	return ctx.Err()
}

// startupCall returns the function that startup_states stands for, and its arguments; "" for none.
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

// startup runs a function as a job that the minion orders itself, and sends its return where those of other jobs go.
func (j *jobs) startup(fun string, args []any) {
	r := j.newScheduled(schedule.Call{Fun: fun, Args: args})
	r.load.Delete("schedule")
	r.pub.Ret = data.Str(j.m.settings.all().Value("ext_job_cache"))
	if r.pub.Ret == "None" {
		r.pub.Ret = ""
	}
	j.enterScheduled(r)
	if _, ok := j.work.add(func() { j.runStartup(r) }, 0); !ok {
		r.cancel(nil)
		j.leaveScheduled(r)
		j.log.Errorf("startup_states is not carried out: too many jobs wait")
	}
}

func (j *jobs) runStartup(r *running) {
	defer r.cancel(nil)
	defer j.leaveScheduled(r)
	ret := j.do(r)
	j.log.Infof("Returning information for job: %s", r.pub.JID)
	j.cache(ret)
	j.giveReturners(r, ret)
	sent := *ret
	sent.JID, sent.Extra = job.Req, data.NewMap(job.OwnID, string(r.pub.JID))
	for _, l := range j.m.links {
		l.courier.deliver(&sent)
	}
}
