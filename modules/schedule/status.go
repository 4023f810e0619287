package schedule

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/schedule"
)

// showNextFireTime returns the next time at which a job is due, before its splay.
//
// CLI Example:
//
//	salt '*' schedule.show_next_fire_time job_name
func (m *module) showNextFireTime(ctx context.Context, a nameArgs) (any, error) {
	ret := data.NewMap("result", true)
	if !data.Truth(a.Name) {
		failed(ret, nameRequired)
	}
	if next, ok := m.ask(ctx, "next_fire_time_complete", "name", a.Name, "func",
		"get_next_fire_time").Get("next_fire_time"); ok {
		ret.Set("next_fire_time", next)
	} else {
		ret.Set("comment", "next fire time not available.")
	}
	return ret, nil
}

type jobStatusArgs struct {
	Name    any
	TimeFmt string `name:"time_fmt" default:"'%Y-%m-%dT%H:%M:%S'"`
}

// jobStatus returns all that the minion knows of a job: its options, and under keys with an
// underscore the time of its last and next run, and how often and why it was skipped.
//
// time_fmt : %Y-%m-%dT%H:%M:%S
//
//	The format of times.
//
// CLI Example:
//
//	salt '*' schedule.job_status job_name
func (m *module) jobStatus(ctx context.Context, a jobStatusArgs) (any, error) {
	body := m.ask(ctx, "job_status_complete", "func", "job_status", "name", a.Name,
		"fire_event", true)
	job, ok := body.Value("data").(*data.Map)
	if !ok {
		return body.Value("data"), nil
	}
	shown := data.NewMap()
	for key, v := range job.All() {
		if t, ok := v.(time.Time); ok {
			v = schedule.FormatTime(t, a.TimeFmt)
		}
		shown.Set(key, v)
	}
	return shown, nil
}
