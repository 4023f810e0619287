package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Database returns the state mysql_database.
//
// What differs from Salt: in test mode both what the character set and what the collation would
// become is told, and a database whose character set or collation could not be set is a failure.
func Database() loader.Plugin {
	return state("mysql_database", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentDatabase).Secret("connection_pass"),
			loader.F("present", m.presentDatabase).Secret("connection_pass"),
		}
	})
}

type databaseArgs struct {
	Name         string
	CharacterSet any       `default:"None"`
	Collate      any       `default:"None"`
	Conn         *data.Map `kwargs:"connection_args"`
}

// presentDatabase keeps a database.
//
// character_set, collate
//
//	Its character set and its collation. Default: those of the server.
//
//	frank:
//	  mysql_database.present:
//	    - character_set: utf8mb4
func (m *module) presentDatabase(ctx context.Context, a databaseArgs) (any, error) {
	v, err := m.call(ctx, "db_get", a.Conn, nil, a.Name)
	if err != nil {
		return nil, err
	}
	now, _ := v.(*data.Map)
	if now.Len() > 0 {
		return m.alterDatabase(ctx, a, now)
	}
	if text := said(ctx); text != "" {
		return change.Failed(a.Name, text), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Database %s is not present and needs to be created", a.Name)), nil
	}
	made, err := m.call(ctx, "db_create", a.Conn, data.NewMap("character_set", a.CharacterSet, "collate", a.Collate), a.Name)
	if err != nil {
		return nil, err
	}
	if data.Truth(made) {
		return change.New(a.Name, true, data.NewMap(a.Name, "Present"), fmt.Sprintf("The database %s has been created", a.Name)), nil
	}
	return change.Failed(a.Name, because(ctx, "Failed to create database "+a.Name)), nil
}

// differing says what of a database is not as wanted, in words; "" for nothing.
func (a databaseArgs) differing(now *data.Map) string {
	comment := fmt.Sprintf("Database %s is already present", a.Name)
	same := true
	if is := data.Str(now.Value("character_set")); data.Truth(a.CharacterSet) && data.Str(a.CharacterSet) != is {
		comment, same = fmt.Sprintf("Database character set %s != %s needs to be updated", data.Str(a.CharacterSet), is), false
	}
	if is := data.Str(now.Value("collate")); data.Truth(a.Collate) && data.Str(a.Collate) != is {
		comment, same = comment+fmt.Sprintf("\nDatabase collate %s != %s needs to be updated", data.Str(a.Collate), is), false
	}
	if same {
		return ""
	}
	return comment
}

// renamed tells whether a database differs in nothing but the name of utf8, which is utf8mb3 to newer servers.
func (a databaseArgs) renamed(now *data.Map) bool {
	named := func(v any) string {
		name := data.Str(v)
		if rest, ok := strings.CutPrefix(name, "utf8"); ok && (rest == "" || rest[0] == '_') {
			return "utf8mb3" + rest
		}
		return name
	}
	return (!data.Truth(a.CharacterSet) || named(a.CharacterSet) == named(now.Value("character_set"))) &&
		(!data.Truth(a.Collate) || named(a.Collate) == named(now.Value("collate")))
}

func (m *module) alterDatabase(ctx context.Context, a databaseArgs, now *data.Map) (any, error) {
	comment := a.differing(now)
	switch {
	case comment == "":
		return change.Done(a.Name, fmt.Sprintf("Database %s is already present", a.Name)), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, comment+fmt.Sprintf("\nDatabase %s is going to be updated", a.Name)), nil
	}
	if _, err := m.call(ctx, "alter_db", a.Conn, data.NewMap("character_set", a.CharacterSet, "collate", a.Collate), a.Name); err != nil {
		return nil, err
	}
	failure := said(ctx)
	v, err := m.call(ctx, "db_get", a.Conn, nil, a.Name)
	if err != nil {
		return nil, err
	}
	after, _ := v.(*data.Map)
	changes := &data.Map{}
	for _, key := range []string{"collate", "character_set"} {
		if was, is := now.Value(key), after.Value(key); !data.Equal(was, is) {
			changes.Set(key, data.NewMap("before", was, "now", is))
		}
	}
	if left := a.differing(after); failure != "" || left != "" && !a.renamed(after) {
		return change.New(a.Name, false, changes, left+"\n"+failure), nil
	}
	return change.New(a.Name, true, changes, comment), nil
}

type absentDatabaseArgs struct {
	Name string
	Conn *data.Map `kwargs:"connection_args"`
}

// absentDatabase drops a database.
//
//	frank:
//	  mysql_database.absent: []
func (m *module) absentDatabase(ctx context.Context, a absentDatabaseArgs) (any, error) {
	there, err := m.call(ctx, "db_exists", a.Conn, nil, a.Name)
	if err != nil {
		return nil, err
	}
	if !data.Truth(there) {
		if text := said(ctx); text != "" {
			return change.Failed(a.Name, text), nil
		}
		return change.Done(a.Name, fmt.Sprintf("Database %s is not present, so it cannot be removed", a.Name)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Database %s is present and needs to be removed", a.Name)), nil
	}
	gone, err := m.call(ctx, "db_remove", a.Conn, nil, a.Name)
	if err != nil {
		return nil, err
	}
	if data.Truth(gone) {
		return change.New(a.Name, true, data.NewMap(a.Name, "Absent"), fmt.Sprintf("Database %s has been removed", a.Name)), nil
	}
	return change.Failed(a.Name, because(ctx, "Unable to remove database "+a.Name)), nil
}
