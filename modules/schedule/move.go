package schedule

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/schedule"
)

type moveArgs struct {
	Name    any
	Target  any
	Options *data.Map `kwargs:"kwargs"`
}

// move adds a job to the schedules of other minions. If all of them accept it, move deletes it
// here. It needs the module publish, and a master that allows the minion to publish schedule.add.
//
// test : False
//
//	Only report what would be done.
//
// CLI Example:
//
//	salt '*' schedule.move jobname target
func (m *module) move(ctx context.Context, a moveArgs) (any, error) {
	ret, done, err := m.send(ctx, a, "moved")
	if done {
		m.deleteJob(ctx, a.Name, nil)
		ret.Set("comment", "Moved Job "+data.Str(a.Name)+" from schedule.")
	}
	return ret, err
}

// copy adds a job to the schedules of other minions. It needs the module publish, and a master that
// allows the minion to publish schedule.add.
//
// test : False
//
//	Only report what would be done.
//
// CLI Example:
//
//	salt '*' schedule.copy jobname target
func (m *module) copy(ctx context.Context, a moveArgs) (any, error) {
	ret, done, err := m.send(ctx, a, "copied")
	if done {
		ret.Set("comment", "Copied Job "+data.Str(a.Name)+" from schedule to minion(s).")
	}
	return ret, err
}

// send publishes a job to other minions. done is true if all of them accepted it.
func (m *module) send(
	ctx context.Context, a moveArgs, would string,
) (ret *data.Map, done bool, err error) {
	name := data.Str(a.Name)
	ret = data.NewMap("comment", []any{}, "result", true)
	if !data.Truth(a.Name) {
		failed(ret, nameRequired)
	}
	if flag(a.Options, "test") {
		ret.Set("comment", "Job: "+name+" would be "+would+" from schedule.")
		return ret, false, nil
	}
	_, jobs, found := m.place(ctx, a.Name)
	if !found {
		return failed(ret, "Job "+name+" does not exist."), false, nil
	}
	job, _ := jobs.Value(a.Name).(*data.Map)
	answers, err := calls.Publish(ctx, m.env, calls.Publication{
		Target: a.Target, Fun: "schedule.add", Arg: jobWords(a.Name, job),
	})
	if err != nil {
		return nil, false, err
	}
	return report(ret, answers)
}

// jobWords returns a job as the arguments of schedule.add.
func jobWords(name any, job *data.Map) []any {
	words := []any{}
	if !job.Has("name") {
		words = append(words, "name="+data.Str(name))
	}
	for key, v := range job.All() {
		words = append(words, data.Str(key)+"="+data.Str(v))
	}
	return words
}

// report completes a result with the minions that rejected the job, or else with all, which
// accepted it. The result is False if a minion rejected the job or none answered. Salt reports True
// then, and also counts the dictionary of a rejection as acceptance.
func report(ret, answers *data.Map) (*data.Map, bool, error) {
	minions, refused := []any{}, []any{}
	for id, v := range answers.All() {
		if minions = append(minions, id); !accepted(v) {
			refused = append(refused, id)
		}
	}
	switch {
	case len(minions) == 0:
		return failed(ret, "no servers answered the published schedule.add command"), false, nil
	case len(refused) > 0:
		ret.Set("minions", refused)
		return failed(ret, "the following minions return False"), false, nil
	}
	ret.Set("minions", minions)
	return ret, true, nil
}

// accepted reports whether an answer of schedule.add says that the job was added.
func accepted(answer any) bool {
	if result, ok := answer.(*data.Map); ok && result.Has("result") {
		answer = result.Value("result")
	}
	return data.Truth(answer)
}

type postponeArgs struct {
	Name        any
	CurrentTime any
	NewTime     any
	Options     *data.Map `kwargs:"kwargs"`
}

// postponeJob runs a job at another time instead of one of its scheduled times.
//
// time_fmt : %Y-%m-%dT%H:%M:%S
//
//	The format of both times.
//
// CLI Example:
//
//	salt '*' schedule.postpone_job job current_time new_time
//	salt '*' schedule.postpone_job job current_time new_time time_fmt='%Y-%m-%dT%H:%M:%S'
func (m *module) postponeJob(ctx context.Context, a postponeArgs) (any, error) {
	ret, format := data.NewMap("comment", []any{}, "result", true), timeFormat(a.Options)
	switch {
	case !data.Truth(a.Name):
		return failed(ret, nameRequired), nil
	case !data.Truth(a.CurrentTime):
		return failed(ret, "Job current time is required."), nil
	case !isTime(a.CurrentTime, format):
		return failed(ret, "Date string could not be parsed."), nil
	case !data.Truth(a.NewTime):
		return failed(ret, "Job new_time is required."), nil
	case !isTime(a.NewTime, format):
		return failed(ret, "Date string could not be parsed."), nil
	}
	return m.shift(ctx, ret, a.Name, shiftWords{"postpone", "postponed", "Postponed Job "},
		"name", a.Name, "time", a.CurrentTime, "new_time", a.NewTime, "time_fmt", format), nil
}

type skipArgs struct {
	Name        any
	CurrentTime any
	Options     *data.Map `kwargs:"kwargs"`
}

// skipJob skips one scheduled run of a job.
//
// time_fmt : %Y-%m-%dT%H:%M:%S
//
//	The format of the time.
//
// CLI Example:
//
//	salt '*' schedule.skip_job job time
func (m *module) skipJob(ctx context.Context, a skipArgs) (any, error) {
	ret, format := data.NewMap("comment", []any{}, "result", true), timeFormat(a.Options)
	if !data.Truth(a.Name) {
		failed(ret, nameRequired)
	}
	if !data.Truth(a.CurrentTime) {
		failed(ret, "Job time is required.")
	} else if !isTime(a.CurrentTime, format) {
		return failed(ret, "Date string could not be parsed."), nil
	}
	return m.shift(ctx, ret, a.Name, shiftWords{"skip", "skipped", "Added Skip Job "},
		"name", a.Name, "time", a.CurrentTime, "time_fmt", format), nil
}

func timeFormat(options *data.Map) string {
	if v := options.Value("time_fmt"); data.Truth(v) {
		return data.Str(v)
	}
	return schedule.TimeFormat
}

func isTime(v any, format string) bool {
	text, ok := v.(string)
	_, err := schedule.ParseTime(text, format)
	return ok && err == nil
}

// shiftWords holds the words for postponing or skipping in texts and events.
type shiftWords struct{ verb, would, done string }

func (m *module) shift(
	ctx context.Context, ret *data.Map, key any, w shiftWords, request ...any,
) *data.Map {
	name := data.Str(key)
	if data.Truth(m.env.Option("test")) {
		ret.Set("comment", "Job: "+name+" would be "+w.would+" in schedule.")
		return ret
	}
	switch where, _, found := m.place(ctx, key); {
	case !found:
		return failed(ret, "Job "+name+" does not exist.")
	case where == "pillar":
		request = append(request, "where", "pillar")
	}
	jobs, ok := m.askSchedule(ctx,
		w.verb+"_job_complete", append(request, "func", w.verb+"_job")...)
	switch {
	case !ok:
	case has(jobs, key) && enabledIn(jobs, key):
		ret.Set("result", true)
		ret.Set("comment", w.done+name+" in schedule.")
	default:
		failed(ret, "Failed to "+w.verb+" job "+name+" in schedule.")
	}
	return ret
}
