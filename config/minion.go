package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Minion holds the options of a minion. Those that it reads itself have a field, in groups: package config generates them from
// options.yaml, which says what each means, and docs/options.md shows them. The tag names Salt's option.
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

	opts         *data.Map // all options
	loaded       *Minion   // as it was loaded, to tell what code changed
	schedules    map[string]*data.Map
	idConfigured bool
	guessedID    string // without append_domain
}

// DefaultMinion returns the options of a minion that has no configuration, with the paths of /etc/salt and no ID.
func DefaultMinion() *Minion {
	m := &Minion{opts: known().defaults(minionRole)}
	m.fill(&Report{})
	return m
}

// LoadMinion reads DIR/minion, or the file that SALT_MINION_CONFIG names, and what it includes. An empty dir is
// that of SALT_CONFIG_DIR, or DefaultDir. env looks up the environment; nil has none. The error joins the *Error of
// every fault found; the report is there all the same.
//
// The ID is the option id; else what the file minion_id holds, below root_dir in the system's directory for
// configuration; else a guess from the names and addresses of this host, for which name servers are asked for at most
// ten seconds. An id_function is not called here: see IDFunction.
func LoadMinion(dir string, env func(string) string) (*Minion, *Report, error) {
	return loadMinion(dir, env, localHost())
}

func loadMinion(dir string, env func(string) string, h host) (*Minion, *Report, error) {
	opts, set, report, err := load(minionRole, dir, env, h)
	m := &Minion{opts: opts, idConfigured: textOf(set.Value("id")) != "", schedules: report.schedules()}
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

// Map returns all options in Salt's form, with what code has set in the fields of m; the caller owns it.
func (m *Minion) Map() *data.Map {
	loaded := m.loaded
	if loaded == nil {
		loaded = &Minion{}
	}
	return mapOf(m.opts, m, loaded)
}
