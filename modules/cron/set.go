package cron

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/crontab"
	"github.com/brineproject/brine/loader"
)

// put puts a job into a user's crontab. It rejects a job with a line end in any part, because the
// rest would become another job.
func (m *module) put(ctx context.Context, user string, job crontab.Job) (any, error) {
	parts := append(job.Times[:], job.Special, job.Command)
	if job.Identifier != nil {
		parts = append(parts, *job.Identifier)
	}
	if err := oneLine(user, parts...); err != nil {
		return nil, err
	}
	return m.change(ctx, user, func(t *crontab.Table) crontab.Status { return t.Set(job) })
}

// oneLine rejects strings that contain a line end.
func oneLine(user string, parts ...string) error {
	for _, part := range parts {
		if strings.ContainsAny(part, "\r\n\x00") {
			return loader.Execution("write the crontab of %s: %q contains a line break", user, part)
		}
	}
	return nil
}

// given returns an optional string.
func given(v any) *string {
	if v == nil || v == false {
		return nil
	}
	text := data.Str(v)
	return &text
}

type setJobArgs struct {
	User       string
	Minute     any
	Hour       any
	Daymonth   any
	Month      any
	Dayweek    any
	Cmd        string
	Commented  any `default:"False"`
	Comment    any `default:"None"`
	Identifier any `default:"None"`
}

// setJob adds a job to a user's crontab, or changes it. It returns new, updated or present, or
// crontab's complaint.
//
// minute, hour, daymonth, month, dayweek
//
//	When it runs, as in crontab(5). random chooses a time, and two numbers with a colon between
//	choose one from that range. A chosen time is kept.
//
// commented : False
//
//	True: the job does not run.
//
// comment : None
//
//	A comment above the job.
//
// identifier : None
//
//	Identifies the job if its command has changed.
//
// CLI Example:
//
//	salt '*' cron.set_job root '*' '*' '*' '*' 1 /usr/local/weekly
func (m *module) setJob(ctx context.Context, a setJobArgs) (any, error) {
	job := crontab.Job{Command: a.Cmd, Disabled: a.Commented == true, Comment: given(a.Comment),
		Identifier: given(a.Identifier)}
	for i, time := range []any{a.Minute, a.Hour, a.Daymonth, a.Month, a.Dayweek} {
		job.Times[i] = strings.ToLower(data.Str(time))
	}
	return m.put(ctx, a.User, job)
}

type setSpecialArgs struct {
	User       string
	Special    string
	Cmd        string
	Commented  any `default:"False"`
	Comment    any `default:"None"`
	Identifier any `default:"None"`
}

// setSpecial adds a job that runs at a special time such as @daily to a user's crontab. It returns
// new, updated or present, or crontab's complaint.
//
// CLI Example:
//
//	salt '*' cron.set_special root @hourly 'echo foobar'
func (m *module) setSpecial(ctx context.Context, a setSpecialArgs) (any, error) {
	job := crontab.Job{Special: a.Special, Command: a.Cmd, Disabled: a.Commented == true,
		Comment: given(a.Comment), Identifier: given(a.Identifier)}
	return m.put(ctx, a.User, job)
}

type rmJobArgs struct {
	User       string
	Cmd        string
	Minute     any `default:"None"`
	Hour       any `default:"None"`
	Daymonth   any `default:"None"`
	Month      any `default:"None"`
	Dayweek    any `default:"None"`
	Identifier any `default:"None"`
}

// rmJob removes a job from a user's crontab. If times are given, it removes the job only at these
// times. It returns removed or absent, or crontab's complaint.
//
// CLI Example:
//
//	salt '*' cron.rm_job root /usr/bin/foo dayweek=1
func (m *module) rmJob(ctx context.Context, a rmJobArgs) (any, error) {
	var times [5]*string
	for i, time := range []any{a.Minute, a.Hour, a.Daymonth, a.Month, a.Dayweek} {
		if time != nil {
			text := data.Str(time)
			times[i] = &text
		}
	}
	return m.change(ctx, a.User, func(t *crontab.Table) crontab.Status { return t.Remove(a.Cmd, word(a.Identifier), "", times) })
}

// word returns a value as a string, "" for values that Python treats as false.
func word(v any) string {
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}

type rmSpecialArgs struct {
	User       string
	Cmd        string
	Special    any `default:"None"`
	Identifier any `default:"None"`
}

// rmSpecial removes a job that runs at a special time such as @daily from a user's crontab. It
// returns removed or absent, or crontab's complaint.
//
// CLI Example:
//
//	salt '*' cron.rm_special root /usr/bin/foo
func (m *module) rmSpecial(ctx context.Context, a rmSpecialArgs) (any, error) {
	special := "*"
	if a.Special != nil {
		special = data.Str(a.Special)
	}
	return m.change(ctx, a.User, func(t *crontab.Table) crontab.Status {
		return t.Remove(a.Cmd, word(a.Identifier), special, [5]*string{})
	})
}

type setEnvArgs struct {
	User  string
	Name  string
	Value any `default:"None"`
}

// setEnv sets a variable in a user's crontab. It returns new, updated or present, or crontab's
// complaint.
//
// CLI Example:
//
//	salt '*' cron.set_env root MAILTO user@example.com
func (m *module) setEnv(ctx context.Context, a setEnvArgs) (any, error) {
	value := ""
	if a.Value != nil {
		value = data.Str(a.Value)
	}
	if err := oneLine(a.User, a.Name, value); err != nil {
		return nil, err
	}
	return m.change(ctx, a.User, func(t *crontab.Table) crontab.Status { return t.SetVariable(a.Name, value) })
}

type rmEnvArgs struct{ User, Name string }

// rmEnv removes a variable from a user's crontab. It returns removed or absent, or crontab's
// complaint.
//
// CLI Example:
//
//	salt '*' cron.rm_env root MAILTO
func (m *module) rmEnv(ctx context.Context, a rmEnvArgs) (any, error) {
	return m.change(ctx, a.User, func(t *crontab.Table) crontab.Status { return t.RemoveVariable(a.Name) })
}
