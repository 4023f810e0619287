package postgres

import (
	"context"

	"github.com/brineproject/brine/data"
)

// languages returns the procedural languages of a database, each as key and value.
func (m *module) languages(ctx context.Context, t target) (*data.Map, error) {
	rows, err := m.rows(ctx, t, "SELECT lanname FROM pg_language")
	all := data.NewMap()
	for _, row := range rows {
		all.Set(row.Value("lanname"), row.Value("lanname"))
	}
	return all, err
}

// languageList returns the procedural languages of a database.
//
// CLI Example:
//
//	salt '*' postgres.language_list dbname
func (m *module) languageList(ctx context.Context, a languageListArgs) (any, error) {
	return m.languages(ctx, a.at())
}

// languageExists reports whether a database has a language.
//
// CLI Example:
//
//	salt '*' postgres.language_exists plpgsql dbname
func (m *module) languageExists(ctx context.Context, a languageExistsArgs) (any, error) {
	all, err := m.languages(ctx, a.at())
	return all.Has(a.Name), err
}

// languageCreate installs a language in a database and reports whether the server did so. It
// returns False if the language is installed already.
//
// CLI Example:
//
//	salt '*' postgres.language_create plpgsql dbname
func (m *module) languageCreate(ctx context.Context, a languageCreateArgs) (any, error) {
	if all, err := m.languages(ctx, a.at()); err != nil || all.Has(a.Name) {
		return false, err
	}
	return m.execute(ctx, a.at(), "CREATE LANGUAGE "+ident(a.Name))
}

// languageRemove removes a language from a database and reports whether the server did so. It
// returns False if the language is not installed.
//
// CLI Example:
//
//	salt '*' postgres.language_remove plpgsql dbname
func (m *module) languageRemove(ctx context.Context, a languageRemoveArgs) (any, error) {
	if all, err := m.languages(ctx, a.at()); err != nil || !all.Has(a.Name) {
		return false, err
	}
	return m.execute(ctx, a.at(), "DROP LANGUAGE "+ident(a.Name))
}
