// Package ini is Salt's module ini: it reads and edits ini files (salt/modules/ini_manage.py).
//
// In a written file each separator has a space on both sides, unless no_spaces is set. Options
// precede nested sections, and each section is preceded by an empty line. Comments, empty lines and
// lines that are not options stay in place. A new option replaces a comment that contains it.
//
// Differences from Salt: a file is written only if its content changes, atomically, and keeps its
// owner and attributes; a file that cannot be read is an error in test mode, too; an indented line
// at the beginning of a section is an option, but Salt drops it; no_spaces counts for all sections,
// but in Salt only for new ones and for options above all sections.
package ini

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module ini.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "ini", File: "ini_manage",
		New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get_ini", m.getIni),
		loader.F("get_option", m.getOption),
		loader.F("get_section", m.getSection),
		loader.F("remove_option", m.removeOption),
		loader.F("remove_section", m.removeSection),
		loader.F("set_option", m.setOption),
	}}, nil
}

// A format says how a file is read.
type format struct {
	Separator string
	Encoding  any
}

type setArgs struct {
	FileName  string
	Sections  *data.Map `default:"None"`
	Separator string    `default:"'='"`
	Encoding  any       `default:"None"`
	NoSpaces  bool      `default:"False"`
}

// setOption sets options in a file, and creates the file if it does not exist. It returns the
// changed options with their values before and after.
//
// file_name
//
//	Path of the file.
//
// sections : None
//
//	Options and their values by section. Options outside any section are given beside the sections.
//
// separator : =
//
//	The separator between an option and its value.
//
// encoding : None
//
//	The encoding of the file by its name in Python, such as utf-16 or latin-1; None is UTF-8.
//
// no_spaces : False
//
//	Write all options of the file without spaces around the separator, also if none changes.
//
// CLI Example:
//
//	salt '*' ini.set_option /path/to/ini '{section_foo: {key: value}}'
func (m *module) setOption(_ context.Context, a setArgs) (any, error) {
	d, err := m.open(a.FileName, format{a.Separator, a.Encoding})
	if err != nil {
		return nil, err
	}
	d.root.syntax.tight = a.NoSpaces
	changes, err := d.root.update(a.Sections)
	if err != nil {
		return nil, err
	}
	if changes.Len() == 0 && (!a.NoSpaces || d.text() == d.read) {
		return changes, nil
	}
	return changes, d.save()
}

type optionArgs struct {
	FileName  string
	Section   any
	Option    any
	Separator string `default:"'='"`
	Encoding  any    `default:"None"`
}

// getOption returns the value of an option, or None if there is none. Without a section it reads
// the options above all sections.
//
// CLI Example:
//
//	salt '*' ini.get_option /path/to/ini section_name option_name
func (m *module) getOption(_ context.Context, a optionArgs) (any, error) {
	d, err := m.open(a.FileName, format{a.Separator, a.Encoding})
	if err != nil {
		return nil, err
	}
	from := d.root
	if data.Truth(a.Section) {
		from = d.root.section(a.Section)
	}
	return from.value(a.Option), nil
}

// removeOption removes an option from a section. It returns the option's value, or None if there is
// none. Without a section it removes an option above all sections.
//
// CLI Example:
//
//	salt '*' ini.remove_option /path/to/ini section_name option_name
func (m *module) removeOption(_ context.Context, a optionArgs) (any, error) {
	d, err := m.open(a.FileName, format{a.Separator, a.Encoding})
	if err != nil {
		return nil, err
	}
	from := d.root.section(a.Section)
	if from == nil {
		from = d.root
	}
	value := from.value(a.Option)
	if !from.entries.Delete(keyText(a.Option)) {
		return nil, nil
	}
	return value, d.save()
}

type sectionArgs struct {
	FileName  string
	Section   any
	Separator string `default:"'='"`
	Encoding  any    `default:"None"`
}

// getSection returns the options of a section with their values. It returns an empty dictionary if
// there is no such section.
//
// CLI Example:
//
//	salt '*' ini.get_section /path/to/ini section_name
func (m *module) getSection(_ context.Context, a sectionArgs) (any, error) {
	d, err := m.open(a.FileName, format{a.Separator, a.Encoding})
	if err != nil {
		return nil, err
	}
	return d.root.options(a.Section)
}

// removeSection removes a section from a file. It returns the section's options, or None if there
// is no such section.
//
// CLI Example:
//
//	salt '*' ini.remove_section /path/to/ini section_name
func (m *module) removeSection(_ context.Context, a sectionArgs) (any, error) {
	d, err := m.open(a.FileName, format{a.Separator, a.Encoding})
	if err != nil {
		return nil, err
	}
	if !d.root.entries.Has(keyText(a.Section)) {
		return nil, nil
	}
	options, err := d.root.options(a.Section)
	if err != nil {
		return nil, err
	}
	d.root.entries.Delete(keyText(a.Section))
	return options, d.save()
}

type iniArgs struct {
	FileName  string
	Separator string `default:"'='"`
	Encoding  any    `default:"None"`
}

// getIni returns all sections of a file with their options, and the options above them.
//
// CLI Example:
//
//	salt '*' ini.get_ini /path/to/ini
func (m *module) getIni(_ context.Context, a iniArgs) (any, error) {
	d, err := m.open(a.FileName, format{a.Separator, a.Encoding})
	if err != nil {
		return nil, err
	}
	return d.root.plain(), nil
}
