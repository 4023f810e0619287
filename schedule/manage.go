package schedule

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
)

const tagPrefix = "/salt/minion/minion_schedule_"

// ErrRequest is wrapped by Manage for an invalid request.
var ErrRequest = errors.New("bad request to the scheduler")

// Manage executes the request in the body of an event manage_schedule, and returns the reply event;
// tag is "" if there is none. Functions, arguments and replies are those of salt/minion.py,
// manage_schedule, and salt/utils/schedule.py. If the schedule could not be saved, it returns both
// a reply and an error.
func (s *Scheduler) Manage(
	_ context.Context, request *data.Map,
) (tag string, body *data.Map, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(s.read())
	tag, err = s.manage(request)
	if err != nil {
		return "", nil, err
	}
	if changes(request) && data.Truth(request.Value("persist")) ||
		request.Text("func") == "save_schedule" {
		err = s.save()
	}
	if tag == "" {
		return "", nil, err
	}
	return tagPrefix + tag, s.answer(tag, request), err
}

// manage executes a request and returns the suffix of the reply's tag.
func (s *Scheduler) manage(request *data.Map) (string, error) {
	name := request.Value("name")
	if !data.Hashable(name) {
		return "", fmt.Errorf("%w: name %s", ErrRequest, data.Repr(name))
	}
	switch fun := request.Text("func"); fun {
	case "add":
		return "add_complete", s.addJob(request.Value("schedule"))
	case "delete":
		s.deleteJob(name)
		return "delete_complete", nil
	case "modify":
		return s.modifyJob(name, request.Value("schedule"))
	case "enable", "disable":
		s.conf.Set("enabled", fun == "enable")
		s.build()
		return fun + "d_complete", nil
	case "enable_job", "disable_job":
		s.enableJob(name, fun == "enable_job")
		return map[bool]string{true: "enabled_job_complete",
			false: "disabled_job_complete"}[fun == "enable_job"], nil
	case "postpone_job", "skip_job":
		return fun + "_complete", s.moveJob(name, request)
	case "run_job":
		return "", s.runJob(data.Str(name))
	case "reload":
		return "", s.reload(request.Value("schedule"))
	default:
		return asked(fun, request)
	}
}

// asked returns the tag suffix for a request that changes nothing.
func asked(fun string, request *data.Map) (string, error) {
	switch fun {
	case "list":
		return "list_complete", nil
	case "save_schedule":
		return "saved", nil
	case "get_next_fire_time":
		return "next_fire_time_complete", nil
	case "job_status":
		if data.Truth(request.Value("fire_event")) {
			return "job_status_complete", nil
		}
		return "", nil
	}
	return "", fmt.Errorf("%w: Function \"%s\" is unavailable in salt.utils.scheduler", ErrRequest,
		data.Str(request.Value("func")))
}

// changes reports whether a request saves the schedule if persist is set.
func changes(request *data.Map) bool {
	switch request.Text("func") {
	case "add", "delete", "modify", "enable", "disable", "enable_job", "disable_job":
		return true
	}
	return false
}

// answer returns the body of a reply.
func (s *Scheduler) answer(tag string, request *data.Map) *data.Map {
	body := data.NewMap("complete", true)
	switch tag {
	case "saved":
	case "list_complete":
		body.Set("schedule", s.list(request.Text("where")))
	case "next_fire_time_complete":
		body.Set("next_fire_time", s.nextFireTime(data.Str(request.Value("name"))))
	case "job_status_complete":
		body.Set("data", s.status(request.Value("name")))
	default:
		body.Set("schedule", s.list(""))
	}
	return body
}

func (s *Scheduler) addJob(v any) error {
	m, ok := v.(*data.Map)
	if !ok {
		return fmt.Errorf("%w: Scheduled jobs have to be of type dict.", ErrRequest) //nolint:staticcheck // Salt's text
	}
	if m.Len() != 1 {
		return fmt.Errorf("%w: You can only schedule one new job at a time.", ErrRequest) //nolint:staticcheck // Salt's text
	}
	for name, v := range m.All() {
		raw, ok := v.(*data.Map)
		switch {
		case !ok:
			return fmt.Errorf("%w: Scheduled jobs have to be of type dict.", ErrRequest) //nolint:staticcheck // Salt's text
		case s.pillar.Has(name):
			s.o.Log.Warnf("Cannot update job %s, it's in the pillar!", data.Str(name))
			return nil
		case s.conf.Has(name):
			s.o.Log.Infof("Updating job settings for scheduled job: %s", data.Str(name))
		default:
			s.o.Log.Infof("Added new job %s to scheduler", data.Str(name))
		}
		raw = ownMap(raw)
		setNew(raw, "enabled", true)
		s.conf.Set(name, raw)
	}
	s.build()
	return nil
}

func (s *Scheduler) deleteJob(name any) {
	switch {
	case s.conf.Delete(name):
		s.build()
	case s.pillar.Has(name):
		s.o.Log.Warnf("Cannot delete job %s, it's in the pillar!", data.Str(name))
	}
}

// modifyJob replaces a job. As in Salt, the reply is that of deleting the old job; without an old
// job there is none.
func (s *Scheduler) modifyJob(name, v any) (tag string, err error) {
	raw, ok := v.(*data.Map)
	switch {
	case !ok:
		return "", fmt.Errorf("%w: Scheduled jobs have to be of type dict.", ErrRequest) //nolint:staticcheck // Salt's text
	case s.conf.Delete(name):
		tag = "delete_complete"
	case s.pillar.Has(name):
		s.o.Log.Warnf("Cannot modify job %s, it's in the pillar!", data.Str(name))
		return "", nil
	}
	s.conf.Set(name, ownMap(raw))
	s.build()
	return tag, nil
}

func (s *Scheduler) enableJob(name any, on bool) {
	if raw := s.own(name); raw != nil {
		raw = raw.Clone()
		raw.Set("enabled", on)
		s.o.Log.Infof(map[bool]string{true: "Enabling job %s in scheduler",
			false: "Disabling job %s in scheduler"}[on], data.Str(name))
		s.conf.Set(name, raw)
		s.build()
	}
}

// own returns a job of the configuration, or nil if it does not exist or belongs to the pillar.
func (s *Scheduler) own(name any) *data.Map {
	raw, _ := s.conf.Value(name).(*data.Map)
	if raw == nil && s.pillar.Has(name) {
		s.o.Log.Warnf("Cannot modify job %s, it's in the pillar!", data.Str(name))
	}
	return raw
}

// moveJob makes a job skip a time and, if new_time is set, run at that time instead.
func (s *Scheduler) moveJob(name any, request *data.Map) error {
	format, ok := request.Get("time_fmt")
	if !ok {
		format = TimeFormat
	}
	keys := [][2]string{{"time", "skip_explicit"}}
	if request.Text("func") == "postpone_job" {
		keys = append(keys, [2]string{"new_time", "run_explicit"})
	}
	for _, key := range keys {
		v, ok := request.Get(key[0])
		if _, err := ParseTime(data.Str(v), data.Str(format)); !ok || err != nil {
			return fmt.Errorf("%w: %s %s", ErrRequest, key[0], data.Repr(v))
		}
	}
	raw := s.own(name)
	if raw == nil {
		return nil
	}
	raw = raw.Clone()
	for _, key := range keys {
		list := data.ListOf(raw.Value(key[1]))
		list = append(list[max(len(list)-mostExplicit+1, 0):len(list):len(list)],
			data.NewMap("time", request.Value(key[0]), "time_fmt", format))
		raw.Set(key[1], list)
	}
	s.conf.Set(name, raw)
	s.build()
	return nil
}

func (s *Scheduler) reload(v any) error {
	m, ok := v.(*data.Map)
	if inner, there := m.Get("schedule"); there {
		m, ok = inner.(*data.Map)
	}
	if !ok {
		return fmt.Errorf("%w: Schedule must be of type dict.", ErrRequest) //nolint:staticcheck // Salt's text
	}
	s.conf.Update(ownMap(m))
	s.build()
	return nil
}
