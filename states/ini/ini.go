// Package ini is Salt's state ini: it keeps options and sections of ini files (salt/states/ini_manage.py). The module ini reads and
// writes them.
//
// What differs from Salt: options that strict removes come in the order of the file; options_absent takes an option above all
// sections away as its test mode says, and only from the section that it names; sections_absent reports empty sections that it
// removes, and sections_present changes that it made only.
package ini

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state ini.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ini", File: "ini_manage", New: newModule} }

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

// read returns what a file says.
func (m *module) read(ctx context.Context, name, separator string) (*data.Map, error) {
	v, err := m.env.Call(ctx, "ini.get_ini", []any{name, separator}, nil)
	said, _ := v.(*data.Map)
	return said, err
}

// set sets options and returns what changed.
func (m *module) set(ctx context.Context, name, separator string, sections *data.Map) (*data.Map, error) {
	v, err := m.env.Call(ctx, "ini.set_option", []any{name, sections, separator}, nil)
	changes, _ := v.(*data.Map)
	return changes, err
}

// applied returns the result of a real run.
func applied(name string, changes *data.Map) *data.Map {
	if changes.Len() == 0 {
		return change.Done(name, nothing)
	}
	return change.New(name, true, changes, changed)
}

// A forecast is what test mode says.
type forecast struct {
	comment string
	differs bool
}

func (f *forecast) same(format string, args ...any) { f.comment += fmt.Sprintf(format, args...) }

func (f *forecast) differ(format string, args ...any) {
	f.comment += fmt.Sprintf(format, args...)
	f.differs = true
}

func (f *forecast) result(name, otherwise string) *data.Map {
	comment := f.comment
	if comment == "" {
		comment = otherwise
	}
	if f.differs {
		return change.Would(name, nil, comment)
	}
	return change.Done(name, comment)
}

// place says in which section an option is.
func place(section string) string {
	if section == "" {
		return ""
	}
	return " in section " + section
}

// names returns the elements of a list, or the keys of a dictionary, as texts.
func names(v any) []string {
	list, _ := v.([]any)
	if m, ok := v.(*data.Map); ok {
		list = m.Keys()
	}
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = data.Str(e)
	}
	return texts
}
