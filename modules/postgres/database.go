package postgres

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// named returns rows as a dictionary by the value of a column, and removes the column.
func named(rows []*data.Map, column string) *data.Map {
	all := data.NewMap()
	for _, row := range rows {
		name := row.Value(column)
		row.Delete(column)
		all.Set(name, row)
	}
	return all
}

const databases = `SELECT datname AS "Name", pga.rolname AS "Owner", pg_encoding_to_char(encoding) AS "Encoding", datcollate AS "Collate",
	datctype AS "Ctype", datacl AS "Access privileges", spcname AS "Tablespace"
	FROM pg_database pgd JOIN pg_roles pga ON pga.oid = pgd.datdba JOIN pg_tablespace pgts ON pgts.oid = pgd.dattablespace`

// dbList returns the databases with Owner, Encoding, Collate, Ctype, Access privileges and
// Tablespace.
//
// CLI Example:
//
//	salt '*' postgres.db_list
func (m *module) dbList(ctx context.Context, a dbListArgs) (any, error) {
	rows, err := m.rows(ctx, a.at(), databases)
	return named(rows, "Name"), err
}

// dbExists reports whether a database exists.
//
// CLI Example:
//
//	salt '*' postgres.db_exists 'dbname'
func (m *module) dbExists(ctx context.Context, a dbExistsArgs) (any, error) {
	rows, err := m.rows(ctx, a.at(), databases+" WHERE datname = "+literal(a.Name))
	return len(rows) > 0, err
}

// value returns a value of CREATE DATABASE in quotation marks. The value must not contain the mark.
func value(v any, mark string) (string, error) {
	text := data.Str(v)
	if strings.Contains(text, mark) {
		return "", loader.Invocation("Unsupported character %s in value: %s", mark, text)
	}
	return mark + text + mark, nil
}

// dbCreate creates a database and reports whether the server did so.
//
// CLI Example:
//
//	salt '*' postgres.db_create 'dbname'
//	salt '*' postgres.db_create 'dbname' template=template_postgis
func (m *module) dbCreate(ctx context.Context, a dbCreateArgs) (any, error) {
	statement, with := "CREATE DATABASE "+ident(a.Name), ""
	for _, o := range []struct {
		name  string
		value any
		mark  string
	}{
		{"TABLESPACE", a.Tablespace, `"`}, {"OWNER", a.Owner, `"`}, {"TEMPLATE", a.Template, `"`},
		{"ENCODING", a.Encoding, "'"},
		{"LC_COLLATE", a.LcCollate, "'"}, {"LC_CTYPE", a.LcCtype, "'"},
	} {
		if o.value == nil {
			continue
		}
		text, err := value(o.value, o.mark)
		if err != nil {
			return nil, err
		}
		with += " " + o.name + " = " + text
	}
	if with != "" {
		statement += " WITH" + with
	}
	return m.executeAlone(ctx, a.at(), statement)
}

// executeAlone executes a statement that must not run in a transaction, and reports whether the
// server did so.
func (m *module) executeAlone(ctx context.Context, t target, statement string) (bool, error) {
	_, err := m.psql(ctx, t, statement, "--quiet")
	if r, ok := err.(*refusal); ok { //nolint:errorlint // it is of this package, and not wrapped
		m.env.Log.Error(r.Error())
		return false, nil
	}
	return err == nil, err
}

// dbAlter sets the tablespace or the owner of a database. With owner_recurse it also changes the
// owner of everything in it.
//
// CLI Example:
//
//	salt '*' postgres.db_alter dbname owner=otheruser
func (m *module) dbAlter(ctx context.Context, a dbAlterArgs) (any, error) {
	owner, tablespace := data.Truth(a.Owner), data.Truth(a.Tablespace)
	if owner && data.Truth(a.OwnerRecurse) {
		return m.changeOwners(ctx, a.at(), a.Name, data.Str(a.Owner))
	}
	if owner {
		if ok, err := m.executeAlone(ctx, a.at(), "ALTER DATABASE "+ident(a.Name)+" OWNER TO "+
			ident(a.Owner)); !ok || err != nil {
			return false, err
		}
	}
	if tablespace {
		return m.executeAlone(ctx, a.at(), "ALTER DATABASE "+ident(a.Name)+" SET TABLESPACE "+
			ident(a.Tablespace))
	}
	return true, nil
}

// dbRemove ends the connections to a database and drops it.
//
// CLI Example:
//
//	salt '*' postgres.db_remove 'dbname'
func (m *module) dbRemove(ctx context.Context, a dbRemoveArgs) (any, error) {
	for _, statement := range []string{
		"REVOKE CONNECT ON DATABASE " + ident(a.Name) + " FROM public",
		"SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = " +
			literal(a.Name) + " AND pid <> pg_backend_pid()",
		"DROP DATABASE " + ident(a.Name),
	} {
		if _, err := m.psql(ctx, a.at(), statement, "--quiet"); err != nil {
			return nil, err
		}
	}
	return true, nil
}

// owned holds the queries for everything in a database that has an owner. They return names for use
// in statements.
const owned = `SELECT format('ALTER SCHEMA %I OWNER TO ', nspname) AS n FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
	UNION ALL SELECT format('ALTER TABLE %s OWNER TO ', c.oid::regclass) FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND s.nspname !~ '^pg_' AND s.nspname <> 'information_schema'
	UNION ALL SELECT format('ALTER %s %s OWNER TO ', @KIND@, p.oid::regprocedure) FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
		WHERE s.nspname !~ '^pg_' AND s.nspname <> 'information_schema'
	UNION ALL SELECT format('ALTER SEQUENCE %s OWNER TO ', c.oid::regclass) FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
		WHERE c.relkind = 'S' AND s.nspname !~ '^pg_' AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i'))`

// ownerTo makes a role the owner of a database and everything in it, and reports whether the server
// did so.
//
// CLI Example:
//
//	salt '*' postgres.owner_to 'dbname' 'username'
func (m *module) ownerTo(ctx context.Context, a ownerToArgs) (any, error) {
	return m.changeOwners(ctx, a.at(), a.Dbname, a.Ownername)
}

func (m *module) changeOwners(ctx context.Context, t target, db, owner string) (bool, error) {
	t.db = db
	columns, err := m.rows(ctx, t,
		"SELECT 1 AS n FROM pg_attribute WHERE attrelid = 'pg_proc'::regclass AND attname = 'prokind'")
	if err != nil {
		return false, err
	}
	kind := "CASE WHEN p.proisagg THEN 'AGGREGATE' ELSE 'FUNCTION' END"
	if len(columns) > 0 {
		kind = "CASE p.prokind WHEN 'a' THEN 'AGGREGATE' WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END"
	}
	rows, err := m.rows(ctx, t, strings.ReplaceAll(owned, "@KIND@", kind))
	if err != nil {
		return false, err
	}
	statements := "ALTER DATABASE " + ident(db) + " OWNER TO " + ident(owner) + ";\n"
	for _, row := range rows {
		statements += row.Text("n") + ident(owner) + ";\n"
	}
	return m.execute(ctx, t, statements)
}
