package schedule

import (
	"maps"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// Files are the jobs that each file of the configuration sets, by the file's path. A file that could not be read has nil.
type Files map[string]*data.Map

// filesOf returns a copy of files. Without any, all jobs are those of one file.
func filesOf(jobs *data.Map, files Files) Files {
	if files == nil {
		return Files{"": ownMap(jobs)}
	}
	return maps.Clone(files)
}

// SetConfig takes the jobs of a configuration that was read again: of jobs and settings that a file names, those that were
// edited in it since it was last read, or since the schedule was saved to it. What requests have changed in the others
// stays, saved or not. Jobs that are the same as before keep their pace. jobs is what all files come to together.
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

// edited returns the names of jobs and settings that f and next do not have alike, as keys. A file that next could not read
// has its old jobs there from now on.
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

// differing adds to names the keys that two maps do not have alike.
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

// wrote notes what was saved to the schedule's own file, as it will be read.
func (s *Scheduler) wrote(content []byte) {
	v, err := yaml.Load(content, yaml.Options{})
	if err != nil {
		s.o.Log.WithError(err).Errorf("read the saved schedule %s", s.o.File)
		return
	}
	all, _ := v.(*data.Map)
	jobs, _ := all.Value("schedule").(*data.Map)
	s.files[filepath.Clean(s.o.File)] = jobs
}
