package schedule

import (
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// build parses all jobs. Unchanged jobs keep their state.
func (s *Scheduler) build() {
	r := s.read()
	s.settle(r)
	old := map[string]*work{}
	for _, w := range s.works {
		old[w.name] = w
	}
	all := s.merged()
	s.globals, s.works = readGlobals(all), nil
	reader := reader{globals: s.globals, place: s.o.Location, year: yearOf(r.wall, s.o.Location),
		warn: s.o.Log.Errorf}
	if s.o.Whens != nil {
		reader.whens = s.o.Whens()
	}
	for key, v := range all.All() {
		raw, ok := v.(*data.Map)
		switch {
		case isGlobal(key):
		case !ok:
			s.o.Log.Errorf("Scheduled job \"%s\" should have a dict value, not %s", data.Str(key),
				pythonType(v))
		default:
			s.works = append(s.works, s.make(reader, data.Str(key), raw, old[data.Str(key)], r))
		}
	}
	s.stir()
}

// pythonType returns Python's repr of the type of v.
func pythonType(v any) string { return fmt.Sprintf("<class '%s'>", loader.TypeName(v)) }

// make creates the work of a job. It takes over the state of an older job with the same name.
func (s *Scheduler) make(reader reader, name string, raw *data.Map, old *work, r reading) *work {
	sp, err := reader.read(name, raw)
	w := &work{name: name, raw: raw, spec: sp, sum: sum(raw, sp), atStart: sp.runOnStart}
	if err != nil {
		w.err = err.Error()
	} else {
		w.pace, w.extra = s.paceOf(sp)
	}
	if w.err != "" && (old == nil || old.err != w.err) {
		s.o.Log.Error(w.err)
	}
	if s.o.Known != nil && old == nil && !s.o.Known(sp.call.Fun) {
		s.o.Log.Infof("Invalid function: %s in scheduled job %s.", sp.call.Fun, name)
	}
	if old != nil {
		w.follows(old, r)
	} else {
		w.begin(r)
	}
	return w
}

func (s *Scheduler) paceOf(sp *spec) (p pace, extra *course) {
	switch {
	case sp.every > 0:
		p = &interval{every: sp.every, splay: s.delay(sp.splay)}
	case sp.rule != nil:
		p = &course{rule: sp.rule, place: s.o.Location, splay: s.delay(sp.splay), lead: sp.lead}
	}
	if p != nil {
		extra = &course{rule: sp.explicit, place: s.o.Location, splay: s.delay(splay{}),
			lead: loopInterval + 1}
	}
	return p, extra
}

// delay returns a function that draws a random splay.
func (s *Scheduler) delay(sp splay) func() time.Duration {
	return func() time.Duration {
		if sp.end <= 0 {
			return 0
		}
		return time.Duration(sp.start+s.o.Rand(sp.end-sp.start+1)) * time.Second
	}
}

// sum returns a text that differs between jobs with different pace.
func sum(raw *data.Map, sp *spec) string {
	m := data.NewMap()
	for k, v := range raw.All() {
		if isHidden(k) {
			continue
		}
		switch k {
		case "enabled", "skip_explicit", "run_explicit", "until", "after", "range",
			"skip_during_range", "name":
		default:
			m.Set(k, v)
		}
	}
	return fmt.Sprint(canonical(m), data.Repr(sp.times), sp.splay, sp.every)
}

// canonical returns a text that is equal for maps with the same entries in any order, since files
// and requests differ in order.
func canonical(m *data.Map) string {
	text, err := yaml.Dump(m, yaml.DumpOptions{Flow: yaml.Always, SortKeys: true,
		Copies: true, Width: -1})
	if err != nil {
		return data.Repr(m)
	}
	return string(text)
}

// settle brings all jobs up to date before a change: jobs that are off skip their moments.
func (s *Scheduler) settle(r reading) {
	for _, w := range s.works {
		if !w.on(s.globals) {
			w.idle(r)
		}
	}
}
