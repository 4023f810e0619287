package saltutil

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Events: salt-call asks a minion to signal a job that is not a process, and the minion answers.
const (
	signalAsked = "job_signal"
	signalDone  = "/salt/minion/job_signal_complete"
)

const signalTimeout = 5 * time.Second // timeout for the minion's answer

type signalJobArgs struct {
	Jid any
	Sig any
}

// signalJob sends a signal to a job and the programs that it runs. The result is a message, or
// empty if there is no such job.
//
// CLI Example:
//
//	salt '*' saltutil.signal_job <job id> 15
func (m signals) signalJob(ctx context.Context, a signalJobArgs) (any, error) {
	sig, err := loader.Int(a.Sig)
	if err != nil {
		return nil, err
	}
	return m.signal(ctx, a.Jid, syscall.Signal(sig))
}

// termJob asks a job to end (SIGTERM, 15).
//
// CLI Example:
//
//	salt '*' saltutil.term_job <job id>
func (m signals) termJob(ctx context.Context, a jidArgs) (any, error) {
	return m.signal(ctx, a.Jid, syscall.SIGTERM)
}

// killJob kills a job at once (SIGKILL, 9).
//
// CLI Example:
//
//	salt '*' saltutil.kill_job <job id>
func (m signals) killJob(ctx context.Context, a jidArgs) (any, error) {
	return m.signal(ctx, a.Jid, sigkill)
}

// termAllJobs asks all jobs except this one to end (SIGTERM, 15).
//
// CLI Example:
//
//	salt '*' saltutil.term_all_jobs
func (m signals) termAllJobs(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.signalAll(ctx, syscall.SIGTERM)
}

// killAllJobs kills all jobs except this one at once (SIGKILL, 9).
//
// CLI Example:
//
//	salt '*' saltutil.kill_all_jobs
func (m signals) killAllJobs(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.signalAll(ctx, sigkill)
}

func (m signals) signalAll(ctx context.Context, sig syscall.Signal) (any, error) {
	texts := []any{}
	for _, t := range m.tasks(ctx) {
		text, err := m.signalTask(ctx, t, sig)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func (m signals) signal(ctx context.Context, jid any, sig syscall.Signal) (any, error) {
	if t, ok := m.task(ctx, jid); ok {
		return m.signalTask(ctx, t, sig)
	}
	return "", nil
}

// signalTask signals one job and returns a message about the result.
func (m signals) signalTask(ctx context.Context, t task, sig syscall.Signal) (string, error) {
	reached, err := m.reach(ctx, t, sig)
	switch {
	case err != nil:
		return "", err
	case !reached:
		m.forget(t)
		return fmt.Sprintf("Job %s was not running and job data has been cleaned up", t.jid()), nil
	}
	return fmt.Sprintf("Signal %d sent to job %s at pid %d", int(sig), t.jid(), t.pid()), nil
}

// reach signals a job and reports whether it was running.
func (m signals) reach(ctx context.Context, t task, sig syscall.Signal) (bool, error) {
	switch {
	case t.own:
		return m.env.Host.Jobs != nil && m.env.Host.Jobs.Signal(t.jid(), sig, ends(sig)), nil
	case t.part || m.shared(t.pid()):
		return m.askToSignal(ctx, t, sig)
	}
	reached := false // the process may end when its last child ends
	for _, pid := range descendants(t.pid()) {
		err := signalProcess(pid, sig)
		if err != nil {
			m.env.Log.Debugf("signal process %d of job %s: %v", pid, t.jid(), err)
		}
		reached = reached || err == nil
	}
	return signalProcess(t.pid(), sig) == nil || reached, nil
}

// askToSignal asks the minion that runs a job to signal it.
func (m signals) askToSignal(ctx context.Context, t task, sig syscall.Signal) (bool, error) {
	ask := data.NewMap("jid", t.jid(), "signal", int64(sig), "ends", ends(sig))
	fired, answer := fireAndWait(ctx, m.env, signalAsked, ask, signalDone+"/"+t.jid(),
		signalTimeout)
	if !fired || answer.Len() == 0 {
		return false, loader.Execution("cannot signal job %s: the minion with the process id %d does not answer on its event bus", t.jid(), t.pid())
	}
	return data.Truth(answer.Value("running")), nil
}

// forget removes the file of a job that is not running.
func (m signals) forget(t task) {
	jid := t.jid()
	if filepath.Base(jid) != jid {
		return
	}
	if err := os.Remove(cached(m.env, "proc", jid)); err != nil {
		m.env.Log.Debugf("remove the file of job %s: %v", jid, err)
	}
}
