package schedule

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/yaml"
)

// list returns the schedule with the state of each job: that of the pillar, that of the
// configuration (opts) with the tasks, or both.
func (s *Scheduler) list(where string) *data.Map {
	all := s.merged()
	switch where {
	case "pillar":
		all = s.pillar
	case "opts":
		all = s.conf
	}
	r, shown := s.read(), data.NewMap()
	for key, v := range all.All() {
		raw, isJob := v.(*data.Map)
		if w := s.workOf(data.Str(key)); isJob && !isGlobal(key) && w != nil {
			one := *w
			one.raw = raw
			v = one.view(s.globals, s.o.Location, r)
		}
		shown.Set(key, data.Clone(v))
	}
	if where != "pillar" {
		for _, w := range s.tasks {
			shown.Set(w.name, w.view(s.globals, s.o.Location, r))
		}
	}
	return shown
}

func (s *Scheduler) workOf(name string) *work {
	for _, w := range s.works {
		if w.name == name {
			return w
		}
	}
	return nil
}

// status returns the state of a job, or an empty map if it does not exist.
func (s *Scheduler) status(name any) any {
	if v, ok := s.list("").Get(name); ok {
		return v
	}
	return data.NewMap()
}

// nextFireTime returns when a job is next due, before splay, or nil if unknown.
func (s *Scheduler) nextFireTime(name string) any {
	w := s.find(name)
	if w == nil || w.pace == nil {
		return nil
	}
	at, left := w.pace.due(s.read())
	if !left {
		return nil
	}
	return FormatTime(civil(at, s.o.Location), TimeFormat)
}

// save atomically writes the jobs of the configuration to the file, like Salt's persist.
func (s *Scheduler) save() error {
	if s.o.File == "" {
		return nil
	}
	jobs := data.NewMap()
	for key, v := range s.conf.All() {
		if raw, ok := v.(*data.Map); ok {
			v = saved(raw)
		}
		jobs.Set(key, v)
	}
	out, err := yaml.Dump(data.NewMap("schedule", jobs),
		yaml.DumpOptions{Flow: yaml.Leaves, SortKeys: true, Copies: true})
	if err == nil {
		err = WriteFile(s.o.File, out)
	}
	if err != nil {
		return fmt.Errorf("save the schedule: %w", err)
	}
	s.wrote(out)
	return nil
}

func saved(raw *data.Map) *data.Map {
	m := data.NewMap()
	for k, v := range raw.All() {
		if !isHidden(k) {
			m.Set(k, v)
		}
	}
	return m
}

// WriteFile replaces a file atomically. It creates the directory if needed. An existing file keeps
// its mode; a new one is accessible only to its owner.
func WriteFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, content,
		atomicfile.Options{KeepMode: true, Sync: true, Prefix: "." + filepath.Base(path) + "-"})
}
