package config

import (
	"errors"

	"github.com/brineproject/brine/data"
)

// Overlay returns a copy of a minion's options, overridden by those of a file and the files that it
// includes, as the argument localconfig of state functions needs it. A missing file changes
// nothing. Directories that were derived from others, and the id, stay as they are
// (salt/utils/state.py, get_sls_opts).
func Overlay(file string, opts *data.Map, env func(string) string) (*data.Map, error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	report := &Report{Sources: map[string]Origin{}}
	s := &source{env: env, report: report}
	a := &assembly{role: minionRole, opts: opts.Clone(), report: report, env: env}
	a.set = s.overrides(file, "", opts)
	update(a.opts, a.set)
	a.saltenv()
	a.backends()
	for _, name := range []string{"file_roots", "pillar_roots"} {
		if a.set.Has(name) {
			a.opts.Set(name, a.roots(name, "/srv"))
		}
	}
	return a.opts, errors.Join(s.faults...)
}
