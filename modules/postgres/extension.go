package postgres

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
)

// These are the results of create_metadata for an extension.
const (
	notInstalled = "EXTENSION NOT INSTALLED"
	installed    = "EXTENSION INSTALLED"
	toUpgrade    = "EXTENSION TO UPGRADE"
	toMove       = "EXTENSION TO MOVE"
)

func (m *module) extensions(
	ctx context.Context, t target, query, column string,
) (*data.Map, error) {
	rows, err := m.rows(ctx, t, query)
	all := data.NewMap()
	for _, row := range rows {
		all.Set(row.Value(column), row)
	}
	return all, err
}

func (m *module) available(ctx context.Context, t target) (*data.Map, error) {
	return m.extensions(ctx, t, "SELECT * FROM pg_available_extensions", "name")
}

func (m *module) inDatabase(ctx context.Context, t target) (*data.Map, error) {
	return m.extensions(ctx, t, "SELECT a.*, b.nspname AS schema_name FROM pg_extension a, pg_namespace b WHERE a.extnamespace = b.oid", "extname")
}

// availableExtensions returns the extensions that a server can install.
//
// CLI Example:
//
//	salt '*' postgres.available_extensions
func (m *module) availableExtensions(ctx context.Context, a availableExtensionsArgs) (any, error) {
	return m.available(ctx, a.at())
}

// installedExtensions returns the extensions installed in a database.
//
// CLI Example:
//
//	salt '*' postgres.installed_extensions
func (m *module) installedExtensions(ctx context.Context, a installedExtensionsArgs) (any, error) {
	return m.inDatabase(ctx, a.at())
}

// getAvailableExtension returns one of the extensions that a server can install. It returns None if
// it does not exist.
//
// CLI Example:
//
//	salt '*' postgres.get_available_extension plpgsql
func (m *module) getAvailableExtension(
	ctx context.Context, a getAvailableExtensionArgs,
) (any, error) {
	all, err := m.available(ctx, a.at())
	return all.Value(a.Name), err
}

// getInstalledExtension returns one of the extensions installed in a database. It returns None if
// it is not installed.
//
// CLI Example:
//
//	salt '*' postgres.get_installed_extension plpgsql
func (m *module) getInstalledExtension(
	ctx context.Context, a getInstalledExtensionArgs,
) (any, error) {
	all, err := m.inDatabase(ctx, a.at())
	return all.Value(a.Name), err
}

// isAvailableExtension reports whether a server can install an extension.
//
// CLI Example:
//
//	salt '*' postgres.is_available_extension plpgsql
func (m *module) isAvailableExtension(
	ctx context.Context, a isAvailableExtensionArgs,
) (any, error) {
	all, err := m.available(ctx, a.at())
	return all.Has(a.Name), err
}

// isInstalledExtension reports whether an extension is installed in a database.
//
// CLI Example:
//
//	salt '*' postgres.is_installed_extension plpgsql
func (m *module) isInstalledExtension(
	ctx context.Context, a isInstalledExtensionArgs,
) (any, error) {
	all, err := m.inDatabase(ctx, a.at())
	return all.Has(a.Name), err
}

// flags returns what must be done for an extension.
func (m *module) flags(
	ctx context.Context, t target, name string, version, schema any,
) ([]string, error) {
	all, err := m.inDatabase(ctx, t)
	if err != nil {
		return nil, err
	}
	now, ok := all.Value(name).(*data.Map)
	if !ok {
		return []string{notInstalled}, nil
	}
	list := []string{installed}
	if data.Truth(version) && data.Str(version) != now.Text("extversion") {
		list = append(list, toUpgrade)
	}
	if data.Truth(schema) && now.Text("extrelocatable") == "t" &&
		data.Str(schema) != now.Text("schema_name") {
		list = append(list, toMove)
	}
	return list, nil
}

// createMetadata returns what must be done so that a database has an extension in a version and a
// schema.
//
// CLI Example:
//
//	salt '*' postgres.create_metadata adminpack
func (m *module) createMetadata(ctx context.Context, a createMetadataArgs) (any, error) {
	list, err := m.flags(ctx, a.at(), a.Name, a.ExtVersion, a.Schema)
	out := make([]any, len(list))
	for i, f := range list {
		out[i] = f
	}
	return out, err
}

// createExtension installs an extension, or changes its version and schema. It reports whether the
// database then has it that way.
//
// CLI Example:
//
//	salt '*' postgres.create_extension 'adminpack'
func (m *module) createExtension(ctx context.Context, a createExtensionArgs) (any, error) {
	before, err := m.flags(ctx, a.at(), a.Name, a.ExtVersion, a.Schema)
	if err != nil {
		return nil, err
	}
	can, err := m.available(ctx, a.at())
	if err != nil || !can.Has(a.Name) {
		return false, err
	}
	statements := a.statements(before)
	if statements == "" {
		return true, nil
	}
	if ok, err := m.execute(ctx, a.at(), statements); !ok || err != nil {
		return false, err
	}
	after, err := m.flags(ctx, a.at(), a.Name, a.ExtVersion, a.Schema)
	return slices.Equal(after, []string{installed}), err
}

func (a createExtensionArgs) statements(flags []string) string {
	text := ""
	if slices.Contains(flags, notInstalled) {
		text = "CREATE EXTENSION "
		if data.Truth(a.IfNotExists) {
			text += "IF NOT EXISTS "
		}
		text += ident(a.Name)
		if data.Truth(a.Schema) {
			text += " SCHEMA " + ident(a.Schema)
		}
		if data.Truth(a.ExtVersion) {
			text += " VERSION " + ident(a.ExtVersion)
		}
		if data.Truth(a.FromVersion) {
			text += " FROM " + ident(a.FromVersion)
		}
		return text
	}
	if slices.Contains(flags, toMove) {
		text += "ALTER EXTENSION " + ident(a.Name) + " SET SCHEMA " + ident(a.Schema) + "; "
	}
	if slices.Contains(flags, toUpgrade) {
		text += "ALTER EXTENSION " + ident(a.Name) + " UPDATE TO " + ident(a.ExtVersion)
	}
	return text
}

// dropExtension removes an extension from a database and reports whether it is gone.
//
// CLI Example:
//
//	salt '*' postgres.drop_extension 'adminpack'
func (m *module) dropExtension(ctx context.Context, a dropExtensionArgs) (any, error) {
	text := "DROP EXTENSION "
	if data.Truth(a.IfExists) {
		text += "IF EXISTS "
	}
	text += ident(a.Name)
	switch {
	case data.Truth(a.Cascade):
		text += " CASCADE"
	case data.Truth(a.Restrict):
		text += " RESTRICT"
	}
	if _, err := m.execute(ctx, a.at(), text); err != nil {
		return nil, err
	}
	all, err := m.inDatabase(ctx, a.at())
	return !all.Has(a.Name), err
}
