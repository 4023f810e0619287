package ini

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type presentArgs struct {
	Name      string
	Sections  *data.Map `default:"None"`
	Separator string    `default:"'='"`
	Strict    bool      `default:"False"`
	Encoding  any       `default:"None"`
	NoSpaces  bool      `default:"False"`
}

func (a presentArgs) file() file { return file{a.Name, a.Separator, a.Encoding, a.NoSpaces} }

// optionsPresent sets options of an ini file, which is created if missing. Other options are kept.
//
// sections
//
//	Options and their values, by section. Options above all sections are listed next to the
//	sections.
//
// separator : =
//
//	The separator between an option and its value.
//
// strict : False
//
//	True: remove other options in these sections, and above all sections.
//
// encoding : None
//
//	The encoding of the file by its name in Python, such as utf-16 or latin-1; None is UTF-8.
//
// no_spaces : False
//
//	Write all options of the file without spaces around the separator.
//
//	/etc/mysql/my.cnf:
//	  ini.options_present:
//	    - separator: '='
//	    - strict: True
//	    - sections:
//	        mysqld:
//	          max_connections: 200
func (m *module) optionsPresent(ctx context.Context, a presentArgs) (change.Result, error) {
	wanted := split(a.Sections)
	return m.keep(ctx, edit{
		file: a.file(), idle: nothing,
		look: func(f *forecast) { wanted.forecast(f, a.Strict && a.Sections.Len() > 0) },
		apply: func(ctx context.Context, f *forecast) error {
			for _, part := range wanted {
				made, err := m.bring(ctx, a, part, part.in(f.now))
				if err != nil {
					return err
				}
				f.changes.Update(made)
			}
			return nil
		},
	})
}

// A part is the desired content of a section, or of the options above all sections.
type part struct {
	section string
	top     bool
	options *data.Map
}

type parts []part

// split returns the desired parts, beginning with the options above all sections.
func split(sections *data.Map) parts {
	all := parts{{top: true, options: &data.Map{}}}
	for key, v := range sections.All() {
		if options, ok := v.(*data.Map); ok {
			all = append(all, part{section: data.Str(key), options: options})
		} else {
			all[0].options.Set(data.Str(key), v)
		}
	}
	return all
}

// in returns the part's current options in the file.
func (p part) in(now *data.Map) *data.Map {
	if !p.top {
		options, _ := now.Value(p.section).(*data.Map)
		return options
	}
	options := &data.Map{}
	for key, v := range now.All() {
		if _, section := v.(*data.Map); !section {
			options.Set(key, v)
		}
	}
	return options
}

// surplus returns the options in the file that strict removes.
func (p part) surplus(now *data.Map) *data.Map {
	wanted := map[string]bool{}
	for _, name := range names(p.options) {
		wanted[name] = true
	}
	left := &data.Map{}
	for key, v := range now.All() {
		if !wanted[data.Str(key)] {
			left.Set(key, v)
		}
	}
	return left
}

func (all parts) forecast(f *forecast, strict bool) {
	for _, p := range all {
		if p.top {
			p.compare(f)
		}
		if strict {
			p.removals(f)
		}
		if !p.top {
			p.compare(f)
			f.quiet = f.quiet || p.options.Len() == 0 && !f.hasSection(p.section)
		}
	}
}

func (p part) compare(f *forecast) {
	is := p.in(f.now)
	for key, v := range p.options.All() {
		name := data.Str(key)
		if old, there := is.Get(name); there && data.Str(old) == data.Str(v) {
			f.same("Unchanged key %s%s.\n", name, place(p.section))
		} else {
			f.differ("Changed key %s%s.\n", name, place(p.section))
		}
	}
}

func (p part) removals(f *forecast) {
	word := "Deleted"
	if p.top {
		word = "Removed"
	}
	for name := range p.surplus(p.in(f.now)).All() {
		f.differ("%s key %s%s.\n", word, name, place(p.section))
	}
}

// bring applies a part and returns the changes in the form of the whole file.
func (m *module) bring(
	ctx context.Context, a presentArgs, p part, now *data.Map,
) (*data.Map, error) {
	removed, err := m.strip(ctx, a, p, now)
	if err != nil {
		return nil, err
	}
	if p.top {
		made, err := m.set(ctx, a.file(), p.options)
		if err == nil {
			made.Update(removed)
		}
		return made, err
	}
	made, err := m.set(ctx, a.file(), data.NewMap(p.section, p.options))
	if err != nil {
		return nil, err
	}
	if options, ok := made.Value(p.section).(*data.Map); ok {
		removed.Update(options)
	}
	if removed.Len() == 0 {
		return &data.Map{}, nil
	}
	return data.NewMap(p.section, removed), nil
}

// strip removes the options that strict removes, and returns the changes.
func (m *module) strip(
	ctx context.Context, a presentArgs, p part, now *data.Map,
) (*data.Map, error) {
	gone := data.NewMap()
	if !a.Strict || a.Sections.Len() == 0 {
		return gone, nil
	}
	var section any
	if !p.top {
		section = p.section
	}
	for name, was := range p.surplus(now).All() {
		err := change.Do(ctx, m.env, "ini.remove_option",
			[]any{a.Name, section, name}, a.file().arguments())
		if err != nil {
			return nil, err
		}
		gone.Set(name, data.NewMap("before", was, "after", nil))
	}
	return gone, nil
}

type absentArgs struct {
	Name      string
	Sections  *data.Map `default:"None"`
	Separator string    `default:"'='"`
	Encoding  any       `default:"None"`
}

func (a absentArgs) file() file {
	return file{name: a.Name, separator: a.Separator, encoding: a.Encoding}
}

// optionsAbsent removes options from an ini file.
//
// sections
//
//	Lists of options, by section. Options above all sections are listed next to the sections, with
//	any value that is not a list.
//
//	/etc/mysql/my.cnf:
//	  ini.options_absent:
//	    - separator: '='
//	    - sections:
//	        mysqld:
//	          - skip-networking
//	          - bind-address
func (m *module) optionsAbsent(ctx context.Context, a absentArgs) (change.Result, error) {
	var gone []removal
	return m.keep(ctx, edit{
		file: a.file(), otherwise: "No changes detected.", idle: nothing,
		look: func(f *forecast) { gone = a.forecast(f) },
		apply: func(ctx context.Context, f *forecast) error {
			for _, g := range gone {
				args := []any{a.Name, g.section, g.option}
				if err := change.Do(ctx, m.env, "ini.remove_option", args,
					a.file().arguments()); err != nil {
					return err
				}
				noteGone(f.changes, g.section, g.option, g.value)
			}
			return nil
		},
	})
}

// A removal is an option to remove.
type removal struct {
	section, option string
	value           any
}

// forecast returns the options to remove.
func (a absentArgs) forecast(f *forecast) (gone []removal) {
	for key, v := range a.Sections.All() {
		name := data.Str(key)
		options, isList := v.([]any)
		from := part{section: name, top: !isList}.in(f.now)
		if !isList {
			options, name = []any{key}, ""
		}
		for _, option := range data.Texts(options) {
			value, there := from.Get(option)
			if !there {
				f.same("Key %s%s does not exist.\n", option, place(name))
				continue
			}
			f.differ("Deleted key %s%s.\n", option, place(name))
			gone = append(gone, removal{name, option, value})
		}
	}
	return gone
}

func noteGone(changes *data.Map, section, option string, value any) {
	if section == "" {
		changes.Set(option, value)
		return
	}
	if !changes.Has(section) {
		changes.Set(section, data.NewMap())
	}
	changes.Value(section).(*data.Map).Set(option, value)
}
