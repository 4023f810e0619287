package postgres

import (
	"context"

	"github.com/brineproject/brine/data"
)

const schemas = `SELECT pg_roles.rolname AS owner, nspacl AS acl, nspname AS name
	FROM pg_namespace LEFT JOIN pg_roles ON pg_roles.oid = pg_namespace.nspowner`

// schemaList returns the schemas of a database with owner and acl. db_user is the role to connect
// as; user is the system user.
//
// CLI Example:
//
//	salt '*' postgres.schema_list dbname
func (m *module) schemaList(ctx context.Context, a schemaListArgs) (any, error) {
	rows, err := m.rows(ctx, a.at(), schemas)
	return named(rows, "name"), err
}

// schema returns a schema of a database, nil if it does not exist.
func (m *module) schema(ctx context.Context, t target, name string) (any, error) {
	rows, err := m.rows(ctx, t, schemas+" WHERE nspname = "+literal(name))
	return named(rows, "name").Value(name), err
}

// schemaGet returns a schema with owner and acl. It returns None if the schema does not exist. The
// arguments are those of postgres.schema_list.
//
// CLI Example:
//
//	salt '*' postgres.schema_get dbname name
func (m *module) schemaGet(ctx context.Context, a schemaGetArgs) (any, error) {
	return m.schema(ctx, a.at(), a.Name)
}

// schemaExists reports whether a database has a schema. The arguments are those of
// postgres.schema_list.
//
// CLI Example:
//
//	salt '*' postgres.schema_exists dbname name
func (m *module) schemaExists(ctx context.Context, a schemaExistsArgs) (any, error) {
	now, err := m.schema(ctx, a.at(), a.Name)
	return now != nil, err
}

// schemaCreate creates a schema and reports whether the server did so. It returns False if the
// schema exists. The arguments are those of postgres.schema_list.
//
// CLI Example:
//
//	salt '*' postgres.schema_create dbname name owner='owner' db_user='user'
func (m *module) schemaCreate(ctx context.Context, a schemaCreateArgs) (any, error) {
	if now, err := m.schema(ctx, a.at(), a.Name); err != nil || now != nil {
		return false, err
	}
	statement := "CREATE SCHEMA " + ident(a.Name)
	if a.Owner != nil {
		statement += " AUTHORIZATION " + ident(data.Str(a.Owner))
	}
	return m.execute(ctx, a.at(), statement)
}

// schemaRemove removes an empty schema and reports whether it is gone. It returns False if the
// schema does not exist. The arguments are those of postgres.schema_list.
//
// CLI Example:
//
//	salt '*' postgres.schema_remove dbname name
func (m *module) schemaRemove(ctx context.Context, a schemaRemoveArgs) (any, error) {
	if now, err := m.schema(ctx, a.at(), a.Name); err != nil || now == nil {
		return false, err
	}
	return m.execute(ctx, a.at(), "DROP SCHEMA "+ident(a.Name))
}
