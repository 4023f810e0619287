package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
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

// presentExtension keeps an extension in the database that maintenance_db names.
//
// schema, ext_version
//
//	Where the extension is to be, and in which version.
//
// if_not_exists, from_version
//
//	Words of the statement that installs it.
//
// user
//
//	As which user of the system psql runs. Default: postgres, where the server is on this host.
//
// maintenance_db, db_host, db_port, db_user, db_password
//
//	The database to connect to, and how.
//
//	adminpack:
//	  postgres_extension.present:
//	    - maintenance_db: frank
func (m *module) presentExtension(ctx context.Context, a extensionArgs) (any, error) {
	v, err := m.call(ctx, "create_metadata", a.server(), data.NewMap("schema", a.Schema, "ext_version", a.ExtVersion), a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	flags, _ := v.([]any)
	verb, done := "", ""
	switch {
	case slices.Contains(flags, any("EXTENSION NOT INSTALLED")):
		verb, done = "install", "installed"
	case slices.Contains(flags, any("EXTENSION TO MOVE")), slices.Contains(flags, any("EXTENSION TO UPGRADE")):
		verb, done = "upgrade", "upgraded"
	default:
		return change.Done(a.Name, fmt.Sprintf("Extension %s is already present", a.Name)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Extension %s is set to be %s", a.Name, done)), nil
	}
	ok, err := m.call(ctx, "create_extension", a.server(), data.NewMap("if_not_exists", a.IfNotExists, "schema", a.Schema, "ext_version", a.ExtVersion,
		"from_version", a.FromVersion), a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(ok) {
		return change.Failed(a.Name, fmt.Sprintf("Failed to %s extension %s", verb, a.Name)), nil
	}
	told := map[string]string{"install": "Installed", "upgrade": "Upgraded"}[verb]
	return change.New(a.Name, true, data.NewMap(a.Name, told), fmt.Sprintf("The extension %s has been %s", a.Name, done)), nil
}

type absentExtensionArgs struct {
	Name     string
	IfExists any `default:"None"`
	Restrict any `default:"None"`
	Cascade  any `default:"None"`
	userServer
}

// absentExtension removes an extension from the database that maintenance_db names.
//
// if_exists, restrict, cascade
//
//	Words of the statement that removes it.
//
//	adminpack:
//	  postgres_extension.absent:
//	    - maintenance_db: frank
func (m *module) absentExtension(ctx context.Context, a absentExtensionArgs) (any, error) {
	there, err := m.call(ctx, "is_installed_extension", a.server(), nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(there) {
		return change.Done(a.Name, fmt.Sprintf("Extension %s is not present, so it cannot be removed", a.Name)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Extension %s is set to be removed", a.Name)), nil
	}
	gone, err := m.call(ctx, "drop_extension", a.server(), data.NewMap("if_exists", a.IfExists, "restrict", a.Restrict, "cascade", a.Cascade), a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(gone) {
		return change.Failed(a.Name, fmt.Sprintf("Extension %s failed to be removed", a.Name)), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Absent"), fmt.Sprintf("Extension %s has been removed", a.Name)), nil
}
