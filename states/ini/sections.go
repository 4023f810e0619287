package ini

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type sectionsArgs struct {
	Name      string
	Sections  any    `default:"None"`
	Separator string `default:"'='"`
}

// sectionsPresent keeps sections in an ini file, empty ones where they are missing.
//
//	/etc/mysql/my.cnf:
//	  ini.sections_present:
//	    - separator: '='
//	    - sections:
//	        - mysqld
//	        - client
func (m *module) sectionsPresent(ctx context.Context, a sectionsArgs) (any, error) {
	now, err := m.read(ctx, a.Name, a.Separator)
	if err != nil {
		return nil, err
	}
	f, wanted := &forecast{}, &data.Map{}
	for _, section := range names(a.Sections) {
		wanted.Set(section, data.NewMap())
		if now.Has(section) {
			f.same("Section unchanged %s.\n", section)
		} else {
			f.differ("Created new section %s.\n", section)
		}
	}
	if change.Test(ctx) {
		return f.result(a.Name, "No changes detected."), nil
	}
	changes, err := m.set(ctx, a.Name, a.Separator, wanted)
	return change.New(a.Name, true, changes, changed), err // the comment of every run
}

// sectionsAbsent takes sections out of an ini file, with their options.
//
//	/etc/mysql/my.cnf:
//	  ini.sections_absent:
//	    - separator: '='
//	    - sections:
//	        - mysqld
//	        - client
func (m *module) sectionsAbsent(ctx context.Context, a sectionsArgs) (any, error) {
	now, err := m.read(ctx, a.Name, a.Separator)
	if err != nil {
		return nil, err
	}
	f, changes := &forecast{}, &data.Map{}
	for _, section := range names(a.Sections) {
		if !now.Has(section) {
			f.same("Section %s does not exist.\n", section)
			continue
		}
		f.differ("Deleted section %s.\n", section)
		if change.Test(ctx) {
			continue
		}
		gone, err := m.env.Call(ctx, "ini.remove_section", []any{a.Name, section, a.Separator}, nil)
		if err != nil {
			return nil, err
		}
		changes.Set(section, gone)
	}
	if change.Test(ctx) {
		return f.result(a.Name, "No changes detected."), nil
	}
	return applied(a.Name, changes), nil
}
