// Package ini is Salt's state ini: it manages options and sections of ini files
// (salt/states/ini_manage.py). The module ini reads and writes them.
//
// Differences from Salt: options removed by strict are listed in the order of the file.
// options_absent removes an option above all sections, as its test mode says, and removes options
// only from the named section. sections_absent reports the empty sections that it removes.
// sections_present reports only actual changes.
package ini

import (
	"cmp"
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state ini.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "ini", File: "ini_manage",
		New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("options_present", m.optionsPresent),
		loader.F("options_absent", m.optionsAbsent),
		loader.F("sections_present", m.sectionsPresent),
		loader.F("sections_absent", m.sectionsAbsent),
	}}, nil
}

const (
	nothing = "No anomaly detected"
	changed = "Changes take effect"
)

// A file is an ini file and how it is read.
type file struct {
	name, separator string
	encoding        any
	tight           bool // no spaces around the separator
}

// arguments are the keyword arguments of functions of the module.
func (f file) arguments() *data.Map {
	words := data.NewMap("separator", f.separator)
	if f.encoding != nil {
		words.Set("encoding", f.encoding)
	}
	return words
}

// read returns the contents of a file.
func (m *module) read(ctx context.Context, f file) (*data.Map, error) {
	return change.Ask[*data.Map](ctx, m.env, "ini.get_ini", []any{f.name}, f.arguments())
}

// set sets options and returns the changes.
func (m *module) set(ctx context.Context, f file, sections *data.Map) (*data.Map, error) {
	words := f.arguments()
	if f.tight {
		words.Set("no_spaces", true)
	}
	return change.Ask[*data.Map](ctx, m.env, "ini.set_option", []any{f.name, sections}, words)
}

// A forecast holds the comment and changes of test mode, and the changes of a real run.
type forecast struct {
	now     *data.Map // contents of the file before
	comment string
	differs bool
	quiet   bool // there is a change that test mode does not report, as in Salt
	changes *data.Map
}

// hasSection reports whether the file has a section, as opposed to an option, of that name.
func (f *forecast) hasSection(name string) bool {
	_, ok := f.now.Value(name).(*data.Map)
	return ok
}

func (f *forecast) same(format string, args ...any) { f.comment += fmt.Sprintf(format, args...) }

func (f *forecast) differ(format string, args ...any) {
	f.comment += fmt.Sprintf(format, args...)
	f.differs = true
}

// An edit is a call of a state for a file. look fills in a forecast. apply changes the file and
// records the changes.
type edit struct {
	file
	look      func(f *forecast)
	apply     func(ctx context.Context, f *forecast) error
	otherwise string // comment of test mode if nothing changes
	idle      string // comment of a real run that changed nothing
}

// keep runs a state. The changes are those that the module reports, because it may read an option
// differently from how it was set.
func (m *module) keep(ctx context.Context, e edit) (change.Result, error) {
	var f *forecast
	ret, err := change.Thing[*forecast]{
		Name: e.name,
		Look: func(ctx context.Context) (*forecast, error) {
			now, err := m.read(ctx, e.file)
			f = &forecast{now: now, changes: &data.Map{}}
			e.look(f)
			return f, err
		},
		Wants: func(f *forecast) *data.Map {
			return change.When(f.differs || f.quiet, data.NewMap("file", e.name))
		},
		Apply:   e.apply,
		Changed: func(_, f *forecast) *data.Map { return f.changes },
		Say: func(o change.Outcome[*forecast]) any {
			switch {
			case o.Test:
				return cmp.Or(o.Before.comment, e.otherwise)
			case o.Before.changes.Len() == 0:
				return e.idle
			}
			return changed
		},
		Silent: true,
		Trust:  true,
	}.Ensure(ctx)
	if ret.Verdict == change.Pending && !f.differs {
		ret.Verdict = change.Success
	}
	return ret, err
}

// place describes the section of an option.
func place(section string) string {
	if section == "" {
		return ""
	}
	return " in section " + section
}

// names returns the elements of a list, or the keys of a dictionary, as strings.
func names(v any) []string {
	list, _ := v.([]any)
	if m, ok := v.(*data.Map); ok {
		list = m.Keys()
	}
	return data.Texts(list)
}
