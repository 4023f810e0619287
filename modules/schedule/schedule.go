// Package schedule is Salt's module schedule: it shows and changes the jobs that the minion runs on
// its own (salt/modules/schedule.py).
//
// The module sends manage_schedule events to the scheduler of the running minion and waits up to 30
// seconds for the events that answer them. See the top-level package schedule for the other end.
// Under salt-call it finds the minion of the host by the sockets of its event bus. With
// offline=True, the functions that support it change the file _schedule.conf, which the minion
// reads when it starts.
//
// Some behaviour is odd but the same as Salt's. Error texts often come with result True.
// schedule.modify does not wait for an answer. schedule.move and schedule.copy pass values as text.
//
// Differences from Salt: schedule.reload reads _schedule.conf, which schedule.save writes, if there
// is no schedule.conf. Some calls return a result where Salt raises an exception: no job of that
// name offline, no answer to schedule.show_next_fire_time, settings among the jobs in
// schedule.list. A job without the key enabled counts as enabled.
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
	return &loader.Module{Funcs: append(funcs, m.controlFuncs()...)}, nil
}

func (m *module) controlFuncs() []loader.Func {
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

// flag reports whether a keyword argument is set to a true value.
func flag(options *data.Map, key string) bool { return data.Truth(options.Value(key)) }

// persists returns the keyword argument persist. Default: true.
func persists(options *data.Map) any {
	if v, ok := options.Get("persist"); ok {
		return v
	}
	return true
}

// has reports whether a job of that name exists.
func has(schedule *data.Map, name any) bool { return data.Hashable(name) && schedule.Has(name) }

// failed sets a comment and result False.
func failed(ret *data.Map, comment string) *data.Map {
	ret.Set("comment", comment)
	ret.Set("result", false)
	return ret
}

// enabledIn reports whether a job of a schedule is enabled.
func enabledIn(schedule *data.Map, name any) bool {
	job, ok := schedule.Value(name).(*data.Map)
	if v, there := job.Get("enabled"); there {
		return data.Truth(v)
	}
	return ok
}
