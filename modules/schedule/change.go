package schedule

import (
	"context"

	"github.com/brineproject/brine/data"
)

// purge deletes all jobs of the schedule except the minion's internal jobs.
//
// test : False
//
//	Only report what would be deleted.
//
// persist : True
//
//	Also save the schedule.
//
// offline : False
//
//	Delete from the saved schedule, without asking the minion.
//
// CLI Example:
//
//	salt '*' schedule.purge
func (m *module) purge(ctx context.Context, a keywords) (any, error) {
	offline := flag(a.Options, "offline")
	jobs := m.jobs(ctx, listArgs{ShowAll: true, ShowDisabled: true, Offline: offline})
	comments, changes := []any{}, data.NewMap()
	for _, key := range jobs.Keys() {
		name := data.Str(key)
		if name == "enabled" || len(name) > 1 && name[:2] == "__" {
			continue
		}
		if flag(a.Options, "test") {
			comments = append(comments, "Job: "+name+" would be deleted from schedule.")
			continue
		}
		if comment, gone := m.purgeOne(ctx, jobs, key, offline,
			persists(a.Options)); comment != "" {
			comments = append(comments, comment)
			if gone {
				changes.Set(key, "removed")
			}
		}
	}
	if offline {
		m.write(jobs)
	}
	return data.NewMap("comment", comments, "changes", changes, "result", true), nil
}

func (m *module) purgeOne(
	ctx context.Context, jobs *data.Map, key any, offline bool, persist any,
) (comment string, gone bool) {
	if offline {
		jobs.Delete(key)
		return "Deleted job: " + data.Str(key) + " from schedule.", true
	}
	left, ok := m.askSchedule(ctx, "delete_complete", "name", key, "func", "delete",
		"persist", persist)
	switch {
	case !ok:
		return "", false
	case has(left, key):
		return "Failed to delete job " + data.Str(key) + " from schedule.", false
	}
	return "Deleted job: " + data.Str(key) + " from schedule.", true
}

// delete deletes a job.
//
// test : False
//
//	Only report what would be done.
//
// persist : True
//
//	Also save the schedule.
//
// offline : False
//
//	Delete the job from the saved schedule, without asking the minion.
//
// CLI Example:
//
//	salt '*' schedule.delete job1
func (m *module) delete(ctx context.Context, a nameArgs) (any, error) {
	return m.deleteJob(ctx, a.Name, a.Options), nil
}

func (m *module) deleteJob(ctx context.Context, key any, options *data.Map) *data.Map {
	name := data.Str(key)
	ret := data.NewMap("comment", "Failed to delete job "+name+" from schedule.", "result", false,
		"changes", data.NewMap())
	switch {
	case flag(options, "test"):
		ret.Set("comment", "Job: "+name+" would be deleted from schedule.")
		ret.Set("result", true)
		return ret
	case flag(options, "offline"):
		jobs := m.jobs(ctx, listArgs{ShowAll: true, ShowDisabled: true, Offline: true})
		if !has(jobs, key) {
			return failed(ret, "Job "+name+" does not exist.")
		}
		jobs.Delete(key)
		m.write(jobs)
		return deleted(ret, key)
	}
	request := []any{"name", key, "func", "delete", "persist", persists(options)}
	switch where, _, found := m.place(ctx, key); {
	case !found:
		return failed(ret, "Job "+name+" does not exist.")
	case where == "pillar":
		request = []any{"name", key, "where", "pillar", "func", "delete", "persist", false}
	}
	if left, ok := m.askSchedule(ctx, "delete_complete", request...); ok && !has(left, key) {
		return deleted(ret, key)
	}
	return ret
}

func deleted(ret *data.Map, key any) *data.Map {
	ret.Set("result", true)
	ret.Set("comment", "Deleted Job "+data.Str(key)+" from schedule.")
	ret.Set("changes", data.NewMap(key, "removed"))
	return ret
}

// add adds a job.
//
// function
//
//	The function that the job runs. Its arguments are the list job_args and the dictionary
//	job_kwargs.
//
// test : False
//
//	Only report what would be done.
//
// persist : True
//
//	Also save the schedule.
//
// offline : False
//
//	Add the job to the saved schedule, without asking the minion.
//
// CLI Example:
//
//	salt '*' schedule.add job1 function='test.ping' seconds=3600
//	salt '*' schedule.add job2 function='cmd.run' job_args="['date >> /tmp/date.log']" seconds=60
//	salt '*' schedule.add job1 function='test.ping' seconds=3600 offline=True
func (m *module) add(ctx context.Context, a nameArgs) (any, error) {
	name, offline := data.Str(a.Name), flag(a.Options, "offline")
	ret := data.NewMap("comment", "Failed to add job "+name+" to schedule.", "result", false,
		"changes", data.NewMap())
	jobs := m.jobs(ctx, listArgs{ShowAll: true, ShowDisabled: true, Offline: offline})
	switch {
	case has(jobs, a.Name):
		return failed(ret, "Job "+name+" already exists in schedule."), nil
	case conflicts(a.Options):
		return failed(ret, "Error: "+timeConflict), nil
	case a.Options.Has("when") && a.Options.Has("cron"):
		return failed(ret, whenAndCron), nil
	}
	job, err := build(a.Name, a.Options)
	if err != nil || job.Has("result") {
		return job, err
	}
	return m.addJob(ctx, a, ret, jobs, job), nil
}

func (m *module) addJob(ctx context.Context, a nameArgs, ret, jobs, job *data.Map) *data.Map {
	name := data.Str(a.Name)
	switch {
	case flag(a.Options, "test"):
		ret.Set("comment", "Job: "+name+" would be added to schedule.")
		ret.Set("result", true)
		return ret
	case flag(a.Options, "offline"):
		jobs.Set(a.Name, job)
		m.write(jobs)
	default:
		now, ok := m.askSchedule(ctx, "add_complete", "name", a.Name,
			"schedule", data.NewMap(a.Name, job), "func", "add", "persist", persists(a.Options))
		if !ok || !has(now, a.Name) {
			return ret
		}
	}
	ret.Set("result", true)
	ret.Set("comment", "Added job: "+name+" to schedule.")
	ret.Set("changes", data.NewMap(a.Name, "added"))
	return ret
}

// modify replaces a job by one built from the arguments. The job keeps its function unless another
// is given.
//
// test : False
//
//	Only report what would be done.
//
// persist : True
//
//	Also save the schedule.
//
// offline : False
//
//	Change the job in the saved schedule, without asking the minion.
//
// CLI Example:
//
//	salt '*' schedule.modify job1 function='test.ping' seconds=3600
//	salt '*' schedule.modify job1 function='test.ping' seconds=3600 offline=True
func (m *module) modify(ctx context.Context, a nameArgs) (any, error) {
	ret := data.NewMap("comment", "", "changes", data.NewMap(), "result", true)
	switch {
	case conflicts(a.Options):
		return failed(ret, `Error: Unable to use "seconds", "minutes", "hours", or "days" with "when" option.`), nil
	case a.Options.Has("when") && a.Options.Has("cron"):
		return failed(ret, whenAndCron), nil
	}
	jobs := m.jobs(ctx, listArgs{ShowAll: true, ShowDisabled: true,
		Offline: flag(a.Options, "offline")})
	if !has(jobs, a.Name) {
		return failed(ret, "Job "+data.Str(a.Name)+" does not exist in schedule."), nil
	}
	old, _ := jobs.Value(a.Name).(*data.Map)
	options := a.Options.Clone()
	if !options.Has("function") {
		options.Set("function", old.Value("function"))
	}
	job, err := build(a.Name, options)
	switch {
	case err != nil || job.Has("result"):
		return job, err
	case data.Equal(job, old):
		ret.Set("comment", "Job "+data.Str(a.Name)+" in correct state")
		return ret, nil
	}
	ret.Set("changes", data.NewMap(a.Name, data.NewMap("old", old.Clone(), "new", job)))
	return m.modifyJob(ctx, a, ret, jobs, job), nil
}

func (m *module) modifyJob(ctx context.Context, a nameArgs, ret, jobs, job *data.Map) *data.Map {
	name := data.Str(a.Name)
	switch {
	case flag(a.Options, "test"):
		ret.Set("comment", "Job: "+name+" would be modified in schedule.")
		return ret
	case flag(a.Options, "offline"):
		old, _ := jobs.Value(a.Name).(*data.Map)
		old.Update(job)
		m.write(jobs)
	default:
		request := data.NewMap("name", a.Name, "schedule", job, "func", "modify",
			"persist", persists(a.Options))
		if where, _, _ := m.place(ctx, a.Name); where == "pillar" {
			request = data.NewMap("name", a.Name, "schedule", job, "where", "pillar", "func",
				"modify", "persist", false)
		}
		if !m.env.Fired(ctx, requestTag, request) {
			return failed(ret, "Failed to modify job "+name+" in schedule.")
		}
	}
	ret.Set("comment", "Modified job: "+name+" in schedule.")
	return ret
}
