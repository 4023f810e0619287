package master

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/schedule"
)

// scheduleTag is the event by which a scheduled job's result is told on the master's bus.
const scheduleTag = "__schedule_return"

// scheduled runs the jobs of the option schedule, which are runners, and the master's own maintenance (salt/utils/schedule.py).
type scheduled struct {
	p       *parts
	runners *loader.Registry
	*schedule.Scheduler
}

func newScheduled(p *parts, m *maintenance) (*scheduled, error) {
	s := &scheduled{p: p, runners: p.control.runners}
	var err error
	s.Scheduler, err = schedule.New(schedule.Options{Jobs: p.cfg.Schedule, Files: p.cfg.Schedules(), File: s.file(), Now: p.o.Now, Run: s.run,
		Known: func(fun string) bool { return s.runners.Has(fun) }, Log: p.o.Log})
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Concat(m.tasks(), p.fileTasks(), p.sourceTasks()) {
		if err := s.Add(t); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// file is where changes of the schedule are saved.
func (s *scheduled) file() string {
	opts := s.p.settings.all()
	return filepath.Join(filepath.Dir(s.p.cfg.ConfFile), filepath.Dir(opts.Text("default_include")), "_schedule.conf")
}

// run runs one firing and announces what came out.
func (s *scheduled) run(ctx context.Context, c schedule.Call) error {
	jid := s.p.ids.Next()
	s.p.o.Log.Infof("Running scheduled job: %s with jid %s", c.Name, jid)
	value, retcode, success := schedule.Outcome(c.Fun, s.call(ctx, c))
	if !c.ReturnJob {
		return nil
	}
	veil := runners.VeilFor(s.runners, c.Fun, c.Args, c.Kwargs)
	args := veil.Args()
	if c.Kwargs != nil && c.Kwargs.Len() == 0 {
		args = append(args, data.NewMap())
	}
	load := data.NewMap("cmd", "_return", "id", s.p.cfg.ID, "fun", c.Fun, "fun_args", args, "schedule", c.Name,
		"jid", string(c.ReturnID(jid, false)), "pid", int64(os.Getpid()), "return", veil.Result(value), "retcode", int64(retcode), "success", success)
	if c.Metadata != nil {
		load.Set("metadata", c.Stamp(s.p.o.Now(), time.Now().Format("-0700")))
	}
	return s.p.bus.Fire(scheduleTag, load)
}

// call calls the runner of a firing. A panic is its failure, not the master's.
func (s *scheduled) call(ctx context.Context, c schedule.Call) (out loader.Result) {
	defer func() {
		if p := recover(); p != nil {
			s.p.o.Log.Errorf("scheduled job %s: panic: %v\n%s", c.Name, p, debug.Stack())
			out = loader.Result{Value: fmt.Sprint(p), Retcode: 1}
		}
	}()
	out = s.runners.Call(loader.WithContext(ctx, &loader.Context{}), c.Fun, loader.ConditionInput(c.Args, c.Kwargs), loader.CallOptions{})
	if out.Err != nil {
		s.p.o.Log.WithError(out.Err).Errorf("scheduled job %s", c.Name)
	}
	return out
}

// renew takes the jobs of a configuration that was read again.
func (s *scheduled) renew() {
	now := s.p.settings.now()
	s.SetConfig(now.Schedule, now.Schedules())
}
