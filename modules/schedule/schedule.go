// Package schedule is Salt's module schedule: it shows and changes the jobs that the minion runs by itself
// (salt/modules/schedule.py).
//
// The module asks the scheduler of the running minion by events manage_schedule and waits for the events that answer them, up to
// 30 seconds; see package schedule beside the roles for the other end. From salt-call it finds the minion of the host by the sockets
// of its event bus. With offline=True the functions that know it change the file _schedule.conf, which the minion reads when it starts.
//
// What is odd, and as in Salt: texts for what is wrong often come with result True. schedule.modify does not wait for an answer.
// schedule.move and schedule.copy hand values over as text.
//
// What differs from Salt: schedule.reload reads _schedule.conf, which schedule.save writes, where there is no schedule.conf.
// Where Salt fails with an exception (no job of that name offline, no answer to schedule.show_next_fire_time, settings among the
// jobs in schedule.list) there is a result. A job without the key enabled counts as enabled.
package schedule

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module schedule.
func Plugin() loader.Plugin { return loader.Plugin{Name: "schedule", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	funcs := []loader.Func{
		loader.F("list", m.list).Def("list_"),
		loader.F("is_enabled", m.isEnabled),
		loader.F("purge", m.purge),
		loader.F("delete", m.delete),
		loader.F("build_schedule_item", m.buildScheduleItem),
		loader.F("add", m.add),
		loader.F("modify", m.modify),
		loader.F("run_job", m.runJob),
		loader.F("move", m.move),
		loader.F("copy", m.copy),
		loader.F("show_next_fire_time", m.showNextFireTime),
		loader.F("job_status", m.jobStatus),
	}
	return &loader.Module{Funcs: append(funcs, m.steerFuncs()...)}, nil
}

func (m *module) steerFuncs() []loader.Func {
	return []loader.Func{
		loader.F("enable_job", m.enableJob),
		loader.F("disable_job", m.disableJob),
		loader.F("save", m.save),
		loader.F("enable", m.enable),
		loader.F("disable", m.disable),
		loader.F("reload", m.reload).Def("reload_"),
		loader.F("postpone_job", m.postponeJob),
		loader.F("skip_job", m.skipJob),
	}
}

type nameArgs struct {
	Name    any
	Options *data.Map `kwargs:"kwargs"`
}

type keywords struct {
	Options *data.Map `kwargs:"kwargs"`
}

// flag returns whether a keyword argument is given and true.
func flag(options *data.Map, key string) bool { return data.Truth(options.Value(key)) }

// persists returns the keyword persist, which is true unless it is given.
func persists(options *data.Map) any {
	if v, ok := options.Get("persist"); ok {
		return v
	}
	return true
}

// has tells whether there is a job of that name.
func has(schedule *data.Map, name any) bool { return data.Hashable(name) && schedule.Has(name) }

// failed puts a comment and result False into a result.
func failed(ret *data.Map, comment string) *data.Map {
	ret.Set("comment", comment)
	ret.Set("result", false)
	return ret
}

// enabledIn tells whether a job of a schedule is enabled.
func enabledIn(schedule *data.Map, name any) bool {
	job, ok := schedule.Value(name).(*data.Map)
	if v, there := job.Get("enabled"); there {
		return data.Truth(v)
	}
	return ok
}
