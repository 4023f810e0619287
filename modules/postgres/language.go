package postgres

import (
	"context"

	"github.com/brineproject/brine/data"
)

// languages returns the languages of functions that a database has, each by itself.
func (m *module) languages(ctx context.Context, t target) (*data.Map, error) {
	rows, err := m.rows(ctx, t, "SELECT lanname FROM pg_language")
	all := data.NewMap()
	for _, row := range rows {
		all.Set(row.Value("lanname"), row.Value("lanname"))
	}
	return all, err
}

// languageList returns the languages that a database has for functions.
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

// languageCreate brings a language into a database and reports whether the server did so; False where it is there.
//
// CLI Example:
//
//	salt '*' postgres.language_create plpgsql dbname
func (m *module) languageCreate(ctx context.Context, a languageCreateArgs) (any, error) {
	if all, err := m.languages(ctx, a.at()); err != nil || all.Has(a.Name) {
		return false, err
	}
	return m.done(ctx, a.at(), "CREATE LANGUAGE "+ident(a.Name))
}

// languageRemove takes a language from a database and reports whether the server did so; False where it is not there.
//
// CLI Example:
//
//	salt '*' postgres.language_remove plpgsql dbname
func (m *module) languageRemove(ctx context.Context, a languageRemoveArgs) (any, error) {
	if all, err := m.languages(ctx, a.at()); err != nil || !all.Has(a.Name) {
		return false, err
	}
	return m.done(ctx, a.at(), "DROP LANGUAGE "+ident(a.Name))
}
