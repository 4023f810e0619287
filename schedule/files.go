package schedule

import (
	"maps"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// Files are the jobs set by each configuration file, by path. The value of an unreadable file is
// nil.
type Files map[string]*data.Map

// filesOf returns a copy of files. Without files, all jobs belong to one file.
func filesOf(jobs *data.Map, files Files) Files {
	if files == nil {
		return Files{"": ownMap(jobs)}
	}
	return maps.Clone(files)
}

// SetConfig applies the jobs of a configuration that was read again. Of the jobs and settings in a
// file, it applies those edited in the file since it was last read or written by the scheduler.
// Changes made by requests to other jobs are kept, saved or not. Unchanged jobs keep their pace.
// jobs is the combined content of all files.
func (s *Scheduler) SetConfig(jobs *data.Map, files Files) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := filesOf(jobs, files)
	named := s.files.edited(next)
	s.files = next
	for _, name := range named.Keys() {
		if v, ok := jobs.Get(name); ok {
			s.conf.Set(name, data.Clone(v))
		} else {
			s.conf.Delete(name)
		}
	}
	if named.Len() > 0 {
		s.build()
	}
}

// edited returns, as keys, the names of jobs and settings that differ between f and next. For files
// that next could not read it carries over the old jobs.
func (f Files) edited(next Files) *data.Map {
	names := data.NewMap()
	for path, is := range next {
		if is == nil {
			next[path] = f[path]
			continue
		}
		differing(names, f[path], is)
	}
	for path, was := range f {
		if _, there := next[path]; !there {
			differing(names, was, nil)
		}
	}
	return names
}

// differing adds the keys that differ between two maps to names.
func differing(names, a, b *data.Map) {
	for key, v := range a.All() {
		if other, ok := b.Get(key); !ok || !data.Equal(v, other) {
			names.Set(key, nil)
		}
	}
	for key := range b.All() {
		if !a.Has(key) {
			names.Set(key, nil)
		}
	}
}

// wrote records the saved content of the schedule's own file, in the form in which it will be read.
func (s *Scheduler) wrote(content []byte) {
	v, err := yaml.Load(content, yaml.Options{})
	if err != nil {
		s.o.Log.WithError(err).Errorf("parse the saved schedule %s", s.o.File)
		return
	}
	all, _ := v.(*data.Map)
	jobs, _ := all.Value("schedule").(*data.Map)
	s.files[filepath.Clean(s.o.File)] = jobs
}
