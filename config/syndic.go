package config

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Syndic is the configuration of salt-syndic, which runs on the host of a master and signs in to
// the masters above as the minion of that host.
type Syndic struct {
	Master *Master // with the options of syndics that the minion's files set
	Minion *Minion // with the id, the keys and the port for the masters above
}

// LoadSyndic reads DIR/master and DIR/minion as LoadMaster and LoadMinion do. An option of syndics
// in the minion's files replaces the master's (salt/config/__init__.py, syndic_config). The report
// is that of the master, and has the files and warnings of both. The error joins all faults.
func LoadSyndic(dir string, env func(string) string) (*Syndic, *Report, error) {
	minion, second, err2 := LoadMinion(dir, env)
	h := localHost()
	var over *override
	if minion != nil {
		over = &override{minion.opts, second}
		h.full = func(context.Context, string) string { return minion.ID } // asks no name server
	}
	master, first, err1 := loadMaster(dir, env, h, over)
	first.join(second)
	if err := errors.Join(err1, err2); err != nil {
		return nil, first, err
	}
	if minion.SyndicFinger == "" {
		minion.SyndicFinger = textOf(master.opts.Value("syndic_finger"))
	}
	return &Syndic{master, minion}, first, nil
}

// An override holds the minion's options, of which those of syndics replace a master's.
type override struct {
	opts   *data.Map
	report *Report
}

// apply copies the options of syndics that the minion's files set into the master's, with the places
// that set them.
func (o *override) apply(set *data.Map, report *Report) {
	if o == nil {
		return
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(o.report.Sources)),
		func(name string) bool { return !strings.HasPrefix(name, "syndic_") })
	for _, name := range names {
		set.Set(name, o.opts.Value(name))
		report.Sources[name] = o.report.Sources[name]
	}
	for _, d := range o.report.documents {
		opts := data.NewMap()
		for _, name := range names {
			if v, ok := d.opts.Get(name); ok {
				opts.Set(name, v)
			}
		}
		report.documents = append(report.documents, document{d.file, opts, d.at})
	}
}

// join adds the files and warnings of the minion's report, and the places of the options that a syndic
// has from the minion.
func (r *Report) join(minion *Report) {
	for _, name := range []string{"id", "id_function", "pki_dir"} {
		delete(r.Sources, name)
		if at, ok := minion.Sources[name]; ok {
			r.Sources[name] = at
		}
	}
	r.Files = append(r.Files, minion.Files...)
	r.Warnings = append(r.Warnings, minion.Warnings...)
	for _, name := range minion.Watch {
		if !slices.Contains(r.Watch, name) {
			r.Watch = append(r.Watch, name)
		}
	}
}
