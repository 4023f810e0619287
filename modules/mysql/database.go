package mysql

import (
	"context"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type identifierArgs struct {
	Identifier string
	ForGrants  bool `default:"False"`
}

// quoteIdentifier returns the name of a database, table or column in backticks. Percent signs are
// doubled, and in grants for whole databases underscores are escaped with a backslash.
//
// CLI Example:
//
//	salt '*' mysql.quote_identifier 'foo`bar'
func (m *module) quoteIdentifier(_ context.Context, a identifierArgs) (any, error) {
	name := strings.ReplaceAll(a.Identifier, "`", "``")
	if a.ForGrants {
		name = strings.ReplaceAll(name, "_", `\_`)
	}
	return "`" + strings.ReplaceAll(name, "%", "%%") + "`", nil
}

// quoted returns a name quoted for a statement.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// word checks a name that cannot be quoted.
func word(what string, v any) (string, error) {
	s := data.Str(v)
	if !regexp.MustCompile(`^\w+$`).MatchString(s) {
		return "", loader.Invocation("%s is no %s", data.Repr(v), what)
	}
	return s, nil
}

type dbArgs struct {
	Name string
	Conn *data.Map `kwargs:"connection_args"`
}

type dbSetArgs struct {
	Name         string
	CharacterSet any       `default:"None"`
	Collate      any       `default:"None"`
	Conn         *data.Map `kwargs:"connection_args"`
}

func (s *session) hasDB(name string) (bool, error) {
	found, err := s.one("SELECT SCHEMA_NAME FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = ?",
		name)
	return found != "", err
}

// dbExists returns whether a database exists.
//
// CLI Example:
//
//	salt '*' mysql.db_exists 'dbname'
func (m *module) dbExists(ctx context.Context, a dbArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) { return s.hasDB(a.Name) })
}

// dbList returns the names of all databases.
//
// CLI Example:
//
//	salt '*' mysql.db_list
func (m *module) dbList(ctx context.Context, a connArgs) (any, error) {
	return m.with(ctx, a.Conn, []any{},
		func(s *session) (any, error) { return s.column("SHOW DATABASES") })
}

// column returns the first column of a statement's result.
func (s *session) column(statement string) ([]any, error) {
	t, err := s.query(statement)
	list := make([]any, len(t.rows))
	for i, row := range t.rows {
		list[i] = row[0]
	}
	return list, err
}

// dbTables returns the names of the tables in a database, or False if there is no such database.
//
// CLI Example:
//
//	salt '*' mysql.db_tables 'database'
func (m *module) dbTables(ctx context.Context, a dbArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		if there, err := s.hasDB(a.Name); !there || err != nil {
			return false, err
		}
		return s.column("SHOW TABLES IN " + quoted(a.Name))
	})
}

// dbGet returns the character set and the collation of a database, or an empty dictionary if there
// is none.
//
// CLI Example:
//
//	salt '*' mysql.db_get test
func (m *module) dbGet(ctx context.Context, a dbArgs) (any, error) {
	return m.with(ctx, a.Conn, []any{}, func(s *session) (any, error) { return s.getDB(a.Name) })
}

func (s *session) getDB(name string) (*data.Map, error) {
	t, err := s.query("SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = ?", name)
	if err != nil || len(t.rows) == 0 {
		return data.NewMap(), err
	}
	return data.NewMap("character_set", t.rows[0][0], "collate", t.rows[0][1]), nil
}

// alterDb sets the character set and the collation of a database. Arguments that are not given
// leave the setting unchanged.
//
// CLI Example:
//
//	salt '*' mysql.alter_db testdb charset='latin1'
func (m *module) alterDb(ctx context.Context, a dbSetArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		now, err := s.getDB(a.Name)
		if err != nil {
			return nil, err
		}
		charset, err := word("character set", otherwise(a.CharacterSet, now.Value("character_set")))
		if err != nil {
			return nil, err
		}
		collate, err := word("collation", otherwise(a.Collate, now.Value("collate")))
		if err != nil {
			return nil, err
		}
		_, err = s.exec("ALTER DATABASE " + quoted(a.Name) + " CHARACTER SET " + charset +
			" COLLATE " + collate)
		return err == nil, err
	})
}

func otherwise(v, other any) any {
	if data.Truth(v) {
		return v
	}
	return other
}

// dbCreate creates a database. It returns False if there is one of that name.
//
// CLI Example:
//
//	salt '*' mysql.db_create 'dbname' 'utf8' 'utf8_general_ci'
func (m *module) dbCreate(ctx context.Context, a dbSetArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		if there, err := s.hasDB(a.Name); there || err != nil {
			return false, err
		}
		statement := "CREATE DATABASE IF NOT EXISTS " + quoted(a.Name)
		var args []any
		if a.CharacterSet != nil {
			statement, args = statement+" CHARACTER SET ?", append(args, data.Str(a.CharacterSet))
		}
		if a.Collate != nil {
			statement, args = statement+" COLLATE ?", append(args, data.Str(a.Collate))
		}
		_, err := s.exec(statement, args...)
		return err == nil, err
	})
}

// dbRemove drops a database unless it is one of the server's own. It returns whether the database
// is gone, and False if there was none.
//
// CLI Example:
//
//	salt '*' mysql.db_remove 'dbname'
func (m *module) dbRemove(ctx context.Context, a dbArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		there, err := s.hasDB(a.Name)
		if !there || err != nil || a.Name == "mysql" || a.Name == "information_schema" {
			return false, err
		}
		if _, err := s.exec("DROP DATABASE " + quoted(a.Name)); err != nil {
			return nil, err
		}
		there, err = s.hasDB(a.Name)
		return !there, err
	})
}

type tableArgs struct {
	Name  string
	Table any       `default:"None"`
	Conn  *data.Map `kwargs:"connection_args"`
}

// tables executes a statement on a table, or on all tables of a database.
func (m *module) tables(ctx context.Context, a tableArgs, statement string) (any, error) {
	return m.with(ctx, a.Conn, []any{}, func(s *session) (any, error) {
		if a.Table != nil {
			t, err := s.query(statement + " TABLE " + quoted(a.Name) + "." +
				quoted(data.Str(a.Table)))
			return t.records(), err
		}
		names, err := s.column("SHOW TABLES IN " + quoted(a.Name))
		all := []any{}
		for _, name := range names {
			var t table
			if t, err = s.query(statement + " TABLE " + quoted(a.Name) + "." +
				quoted(data.Str(name))); err != nil {
				break
			}
			all = append(all, t.records())
		}
		return all, err
	})
}

// dbCheck checks a table, or all tables of a database, and returns the server's result for each.
//
// CLI Example:
//
//	salt '*' mysql.db_check dbname
//	salt '*' mysql.db_check dbname dbtable
func (m *module) dbCheck(ctx context.Context, a tableArgs) (any, error) {
	return m.tables(ctx, a, "CHECK")
}

// dbRepair repairs a table, or all tables of a database, and returns the server's result for each.
//
// CLI Example:
//
//	salt '*' mysql.db_repair dbname
func (m *module) dbRepair(ctx context.Context, a tableArgs) (any, error) {
	return m.tables(ctx, a, "REPAIR")
}

// dbOptimize optimizes a table, or all tables of a database, and returns the server's result for
// each.
//
// CLI Example:
//
//	salt '*' mysql.db_optimize dbname
func (m *module) dbOptimize(ctx context.Context, a tableArgs) (any, error) {
	return m.tables(ctx, a, "OPTIMIZE")
}
