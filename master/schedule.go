package master

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/schedule"
)

// scheduleTag is the tag of events with results of scheduled jobs.
const scheduleTag = "__schedule_return"

// scheduled runs the jobs of the option schedule, which are runners, and the periodic tasks of the
// master (salt/utils/schedule.py).
type scheduled struct {
	base
	cfg     *config.Master // as at the start
	runners *loader.Registry
	own     *ownCode
	member  *member // nil without a cluster
	*schedule.Scheduler
}

func newScheduled(p *parts, tasks []schedule.Task) (*scheduled, error) {
	s := &scheduled{base: p.base, cfg: p.cfg, runners: p.control.runners, own: p.own, member: p.member}
	var err error
	s.Scheduler, err = schedule.New(
		schedule.Options{Jobs: p.cfg.Schedule, Files: p.cfg.Schedules(), File: s.file(),
			Now: p.now, Run: s.runOnce, Known: func(fun string) bool { return s.runners.Has(fun) },
			Log: p.log},
	)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if err := s.Add(t); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// file returns the file in which changes of the schedule are saved.
func (s *scheduled) file() string {
	opts := s.settings.saltOptions()
	return filepath.Join(filepath.Dir(s.cfg.ConfFile), filepath.Dir(opts.Text("default_include")),
		"_schedule.conf")
}

// runOnce runs a scheduled job. Of the members of a cluster only one does.
func (s *scheduled) runOnce(ctx context.Context, c schedule.Call) error {
	if s.member == nil {
		return s.run(ctx, c)
	}
	return s.member.lead.onceEach(func(ctx context.Context) error {
		due, err := s.member.notes.begin(ctx, c)
		if err != nil || !due {
			return err
		}
		return s.run(ctx, c)
	})(ctx)
}

// run runs a scheduled job and announces its result.
func (s *scheduled) run(ctx context.Context, c schedule.Call) error {
	jid := s.ids.Next()
	s.log.Infof("Running scheduled job: %s with jid %s", c.Name, jid)
	value, retcode, success := schedule.Outcome(c.Fun, s.call(ctx, c))
	if !c.ReturnJob {
		return nil
	}
	veil := runners.VeilFor(s.runners, c.Fun, c.Args, c.Kwargs)
	args := veil.Args()
	if c.Kwargs != nil && c.Kwargs.Len() == 0 {
		args = append(args, data.NewMap())
	}
	load := data.NewMap("cmd", "_return", "id", s.cfg.ID, "fun", c.Fun, "fun_args", args,
		"schedule", c.Name, "jid", string(c.ReturnID(jid, false)), "pid", int64(os.Getpid()),
		"return", veil.Result(value), "retcode", int64(retcode), "success", success)
	if c.Metadata != nil {
		load.Set("metadata", c.Stamp(s.now(), time.Now().Format("-0700")))
	}
	return s.bus.Fire(scheduleTag, load)
}

// call calls the runner of a scheduled job. A panic counts as a failure of the job.
func (s *scheduled) call(ctx context.Context, c schedule.Call) (out loader.Result) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Errorf("scheduled job %s: panic: %v\n%s", c.Name, p, debug.Stack())
			out = loader.Result{Value: fmt.Sprint(p), Retcode: 1}
		}
	}()
	ctx, end := s.own.begin(ctx)
	defer end()
	out = s.runners.Call(loader.WithContext(ctx, &loader.Context{}), c.Fun,
		loader.ConditionInput(c.Args, c.Kwargs), loader.CallOptions{})
	if out.Err != nil {
		s.log.WithError(out.Err).Errorf("run scheduled job %s", c.Name)
	}
	return out
}

// renew applies the jobs of a reloaded configuration.
func (s *scheduled) renew() {
	now := s.settings.config()
	s.SetConfig(now.Schedule, now.Schedules())
}
