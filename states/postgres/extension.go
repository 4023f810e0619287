package postgres

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Extension returns the state postgres_extension.
func Extension() loader.Plugin {
	return state("postgres_extension", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentExtension).Secret("db_password"),
			loader.F("present", m.presentExtension).Secret("db_password"),
		}
	})
}

type extensionArgs struct {
	Name        string
	IfNotExists any `default:"None"`
	Schema      any `default:"None"`
	ExtVersion  any `default:"None"`
	FromVersion any `default:"None"`
	userServer
}

// presentExtension installs or upgrades an extension in the database maintenance_db.
//
// schema, ext_version
//
//	The schema and the version of the extension.
//
// if_not_exists, from_version
//
//	Clauses of the statement that installs it.
//
// user
//
//	The system user that psql runs as. Default: postgres, if the server is on this host.
//
// maintenance_db, db_host, db_port, db_user, db_password
//
//	The database to connect to, and the connection parameters.
//
//	adminpack:
//	  postgres_extension.present:
//	    - maintenance_db: frank
func (m *module) presentExtension(ctx context.Context, a extensionArgs) (change.Result, error) {
	return change.Thing[string]{
		Name: a.Name,
		Look: func(ctx context.Context) (string, error) { return m.lacking(ctx, a) },
		Wants: func(verb string) *data.Map {
			word := map[string]string{"install": "Installed", "upgrade": "Upgraded"}[verb]
			return change.When(verb != "", data.NewMap(a.Name, word))
		},
		Apply: func(ctx context.Context, verb string) error {
			ok, err := m.call(ctx, "create_extension", a.server(),
				data.NewMap("if_not_exists", a.IfNotExists,
					"schema", a.Schema, "ext_version", a.ExtVersion, "from_version",
					a.FromVersion), a.Name)
			return refusal("Failed to "+verb+" extension "+a.Name, ok, err)
		},
		Silent: true,
		Say: func(o change.Outcome[string]) any {
			done := map[string]string{"install": "installed", "upgrade": "upgraded"}[o.Before]
			switch o.Stage {
			case change.StageSame:
				return "Extension " + a.Name + " is already present"
			case change.StageWould:
				return "Extension " + a.Name + " is set to be " + done
			case change.StageDone:
				return "The extension " + a.Name + " has been " + done
			}
			return nil
		},
		Trust: true, // create_extension verifies the result itself
	}.Ensure(ctx)
}

// lacking returns the action for an extension: install, upgrade or "".
func (m *module) lacking(ctx context.Context, a extensionArgs) (string, error) {
	words := data.NewMap("schema", a.Schema, "ext_version", a.ExtVersion)
	v, err := m.call(ctx, "create_metadata", a.server(), words, a.Name)
	if err != nil {
		return "", err
	}
	flags, err := calls.FoundIn[[]any]("postgres.create_metadata", v)
	switch {
	case slices.Contains(flags, any("EXTENSION NOT INSTALLED")):
		return "install", err
	case slices.Contains(flags, any("EXTENSION TO MOVE")), slices.Contains(flags,
		any("EXTENSION TO UPGRADE")):
		return "upgrade", err
	}
	return "", err
}

type absentExtensionArgs struct {
	Name     string
	IfExists any `default:"None"`
	Restrict any `default:"None"`
	Cascade  any `default:"None"`
	userServer
}

// absentExtension removes an extension from the database maintenance_db.
//
// if_exists, restrict, cascade
//
//	Clauses of the statement that removes it.
//
//	adminpack:
//	  postgres_extension.absent:
//	    - maintenance_db: frank
func (m *module) absentExtension(
	ctx context.Context, a absentExtensionArgs,
) (change.Result, error) {
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			return not(m.call(ctx, "is_installed_extension", a.server(), nil, a.Name))
		},
		make: func(ctx context.Context) (any, error) {
			words := data.NewMap("if_exists", a.IfExists, "restrict", a.Restrict,
				"cascade", a.Cascade)
			return m.call(ctx, "drop_extension", a.server(), words, a.Name)
		},
		word:  "Absent",
		texts: removal("Extension", a.Name),
	}.ensure(ctx)
}
