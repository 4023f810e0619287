package schedule

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/schedule"
	"github.com/brineproject/brine/yaml"
)

// includeDir returns the directory of the files that the minion's configuration includes.
func (m *module) includeDir() string {
	opts := m.env.Opts
	dir := opts.Text("conf_dir")
	if dir == "" && opts.Text("conf_file") != "" {
		dir = filepath.Dir(opts.Text("conf_file"))
	}
	return filepath.Join(cmp.Or(dir, "/etc/salt"),
		filepath.Dir(cmp.Or(opts.Text("default_include"), "minion.d/*.conf")))
}

// file returns the path of the file in which the schedule is saved.
func (m *module) file() string { return filepath.Join(m.includeDir(), "_schedule.conf") }

// saved returns the jobs in the file, or none if the file does not exist.
func (m *module) saved() *data.Map {
	src, err := os.ReadFile(m.file())
	if err != nil {
		return data.NewMap()
	}
	v, err := yaml.Load(src, yaml.Options{Name: m.file()})
	if err != nil {
		m.env.Log.WithError(err).Errorf("Unable to read existing schedule file")
	}
	all, _ := v.(*data.Map)
	if jobs, ok := all.Value("schedule").(*data.Map); ok {
		return jobs
	}
	return data.NewMap()
}

// write saves jobs in the file, sorted by name. As in Salt, a failure is only logged.
func (m *module) write(jobs *data.Map) {
	names, sorted := jobs.Keys(), data.NewMap()
	slices.SortFunc(names, func(a, b any) int { return cmp.Compare(data.Str(a), data.Str(b)) })
	for _, name := range names {
		sorted.Set(name, jobs.Value(name))
	}
	out, err := yaml.Dump(data.NewMap("schedule", sorted),
		yaml.DumpOptions{Flow: yaml.Leaves, Copies: true})
	if err == nil {
		err = schedule.WriteFile(m.file(), out)
	}
	if err != nil {
		m.env.Log.WithError(err).Error("Failed to persist the updated schedule")
	}
}
