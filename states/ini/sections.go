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
	Encoding  any    `default:"None"`
}

func (a sectionsArgs) file() file {
	return file{name: a.Name, separator: a.Separator, encoding: a.Encoding}
}

// sectionsPresent adds missing sections to an ini file.
//
//	/etc/mysql/my.cnf:
//	  ini.sections_present:
//	    - separator: '='
//	    - sections:
//	        - mysqld
//	        - client
func (m *module) sectionsPresent(ctx context.Context, a sectionsArgs) (change.Result, error) {
	return m.keep(ctx, edit{
		file: a.file(), otherwise: "No changes detected.",
		idle: changed, // the comment of every run
		look: func(f *forecast) {
			for _, section := range names(a.Sections) {
				if f.now.Has(section) {
					f.same("Section unchanged %s.\n", section)
					f.quiet = f.quiet || !f.hasSection(section)
				} else {
					f.differ("Created new section %s.\n", section)
				}
			}
		},
		apply: func(ctx context.Context, f *forecast) (err error) {
			wanted := &data.Map{}
			for _, section := range names(a.Sections) {
				wanted.Set(section, data.NewMap())
			}
			f.changes, err = m.set(ctx, a.file(), wanted)
			return err
		},
	})
}

// sectionsAbsent removes sections and their options from an ini file.
//
//	/etc/mysql/my.cnf:
//	  ini.sections_absent:
//	    - separator: '='
//	    - sections:
//	        - mysqld
//	        - client
func (m *module) sectionsAbsent(ctx context.Context, a sectionsArgs) (change.Result, error) {
	return m.keep(ctx, edit{
		file: a.file(), otherwise: "No changes detected.", idle: nothing,
		look: func(f *forecast) {
			for _, section := range names(a.Sections) {
				if f.now.Has(section) {
					f.differ("Deleted section %s.\n", section)
				} else {
					f.same("Section %s does not exist.\n", section)
				}
			}
		},
		apply: func(ctx context.Context, f *forecast) error {
			for _, section := range names(a.Sections) {
				if !f.now.Has(section) {
					continue
				}
				gone, err := change.Ask[any](ctx, m.env, "ini.remove_section",
					[]any{a.Name, section}, a.file().arguments())
				if err != nil {
					return err
				}
				f.changes.Set(section, gone)
			}
			return nil
		},
	})
}
