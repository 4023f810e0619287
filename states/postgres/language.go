package postgres

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Language returns the state postgres_language.
//
// Difference from Salt: absent removes a language; Salt's fails because it does not pass the
// database on.
func Language() loader.Plugin {
	return state("postgres_language", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentLanguage).Secret("db_password"),
			loader.F("present", m.presentLanguage).Secret("db_password"),
		}
	})
}

type languageArgs struct {
	Name          string
	MaintenanceDB string `name:"maintenance_db"`
	User          any    `default:"None"`
	address
	DbUser any `default:"None"`
}

// language calls a function on a language.
func (m *module) language(ctx context.Context, fun string, a languageArgs) (any, error) {
	return m.env.Call(ctx, "postgres."+fun, []any{a.Name, a.MaintenanceDB}, data.NewMap(
		"runas", a.User, "host", a.DbHost, "user", a.DbUser, "port", a.DbPort,
		"password", a.DbPassword))
}

// presentLanguage installs a procedural language in a database.
//
// maintenance_db
//
//	The database.
//
// user
//
//	The system user that psql runs as. Default: postgres, if the server is on this host.
//
// db_host, db_port, db_user, db_password
//
//	The connection parameters of the server.
//
//	plperl:
//	  postgres_language.present:
//	    - maintenance_db: shop
func (m *module) presentLanguage(ctx context.Context, a languageArgs) (change.Result, error) {
	return desired{
		name: a.Name,
		is:   func(ctx context.Context) (any, error) { return m.language(ctx, "language_exists", a) },
		make: func(ctx context.Context) (any, error) { return m.language(ctx, "language_create", a) },
		word: "Present",
		texts: change.Texts{
			Same:   fmt.Sprintf("Language %s is already installed", a.Name),
			Would:  fmt.Sprintf("Language %s is set to be installed", a.Name),
			Done:   fmt.Sprintf("Language %s has been installed", a.Name),
			Failed: fmt.Sprintf("Failed to install language %s", a.Name),
		},
	}.ensure(ctx)
}

// absentLanguage removes a procedural language from a database. The arguments are those of
// postgres_language.present.
//
//	plperl:
//	  postgres_language.absent:
//	    - maintenance_db: shop
func (m *module) absentLanguage(ctx context.Context, a languageArgs) (change.Result, error) {
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			return not(m.language(ctx, "language_exists", a))
		},
		make: func(ctx context.Context) (any, error) { return m.language(ctx, "language_remove", a) },
		word: "Absent",
		texts: change.Texts{
			Same:   fmt.Sprintf("Language %s is not present so it cannot be removed", a.Name),
			Would:  fmt.Sprintf("Language %s is set to be removed", a.Name),
			Done:   fmt.Sprintf("Language %s has been removed", a.Name),
			Failed: fmt.Sprintf("Failed to remove language %s", a.Name),
		},
	}.ensure(ctx)
}
