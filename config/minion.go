package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Minion holds the options of a minion. The options that the minion itself reads have fields, in
// groups. These are generated from options.yaml, which describes each option, and docs/options.md
// lists them. The tag is the name of Salt's option.
type Minion struct {
	MinionIdentity
	MinionNetwork
	MinionPaths
	Log
	MinionKeys
	MinionJobs
	MinionEvents
	MinionFiles
	MinionGrains
	MinionSyndic

	opts         *data.Map // all options
	loaded       *Minion   // as it was loaded, to detect fields changed by code
	schedules    map[string]*data.Map
	idConfigured bool
	guessedID    string // without append_domain
}

// DefaultMinion returns the options of a minion that has no configuration, with the paths of
// /etc/salt and no ID.
func DefaultMinion() *Minion {
	m := &Minion{opts: known().defaults(minionRole)}
	m.fill(&Report{})
	return m
}

// LoadMinion reads DIR/minion, or the file that SALT_MINION_CONFIG names, and the files that it
// includes. If dir is empty, it uses SALT_CONFIG_DIR or DefaultDir. env looks up environment
// variables; nil means none. The error joins the *Error of every fault; the report is returned even
// with an error.
//
// The ID is the option id. Without it, the ID is the content of the file minion_id, below root_dir
// in the system's configuration directory. Otherwise it is guessed from the names and addresses of
// this host, with at most ten seconds for name servers. LoadMinion does not call id_function: see
// IDFunction.
func LoadMinion(dir string, env func(string) string) (*Minion, *Report, error) {
	return loadMinion(dir, env, localHost())
}

func loadMinion(dir string, env func(string) string, h host) (*Minion, *Report, error) {
	opts, set, report, err := load(minionRole, dir, env, h)
	m := &Minion{opts: opts, idConfigured: textOf(set.Value("id")) != "",
		schedules: report.schedules()}
	faults := m.fill(report)
	m.guessedID = strings.TrimSuffix(m.ID, "."+m.AppendDomain)
	if validID(m.ID) != nil {
		at := report.Sources["id"]
		faults = append(faults, &Error{File: at.File, Line: at.Line, Option: "id",
			Text: fmt.Sprintf("%q cannot be an id: %v", m.ID, errID)})
	}
	if err := errors.Join(err, errors.Join(faults...)); err != nil {
		return nil, report, err
	}
	return m, report, nil
}

func (m *Minion) fill(r *Report) []error {
	faults := decode(m, m.opts, r)
	loaded := *m
	m.loaded = &loaded
	return faults
}

// Map returns all options in Salt's form, with the changes that code made to the fields of m; the
// caller owns it.
func (m *Minion) Map() *data.Map {
	loaded := m.loaded
	if loaded == nil {
		loaded = &Minion{}
	}
	return mapOf(m.opts, m, loaded)
}
