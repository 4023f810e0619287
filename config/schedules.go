package config

import (
	"path/filepath"

	"github.com/brineproject/brine/data"
)

// Schedules returns the option schedule as set by each file of the configuration, by the file's
// path. The value for an unreadable file is nil. It lets a reload find out which jobs were edited.
// It must not be changed.
func (m *Minion) Schedules() map[string]*data.Map { return m.schedules }

// Schedules is Minion.Schedules for a master.
func (m *Master) Schedules() map[string]*data.Map { return m.schedules }

func (r *Report) schedules() map[string]*data.Map {
	byFile := map[string]*data.Map{}
	for _, d := range r.documents {
		if jobs, ok := d.opts.Value("schedule").(*data.Map); ok {
			byFile[filepath.Clean(d.file)] = jobs
		}
	}
	for _, file := range r.broken {
		byFile[filepath.Clean(file)] = nil
	}
	return byFile
}
