package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Database returns the state mysql_database.
//
// Differences from Salt: in test mode, the changes of both character set and collation are
// reported. A database whose character set or collation could not be set is a failure.
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

// presentDatabase creates or changes a database.
//
// character_set, collate
//
//	Its character set and its collation. Default: those of the server.
//
//	frank:
//	  mysql_database.present:
//	    - character_set: utf8mb4
func (m *module) presentDatabase(ctx context.Context, a databaseArgs) (change.Result, error) {
	present := data.NewMap(a.Name, "Present")
	changes := present
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			v, err := m.call(ctx, "db_get", a.Conn, nil, a.Name)
			if _, err = seen(ctx, v, err); err != nil {
				return nil, err
			}
			return calls.FoundIn[*data.Map]("mysql.db_get", v)
		},
		Wants: func(now *data.Map) *data.Map {
			return change.When(now.Len() == 0 || a.differing(now) != "", present)
		},
		Apply: func(ctx context.Context, now *data.Map) (err error) {
			if now.Len() > 0 {
				changes, err = m.alterDatabase(ctx, a, now)
				return err
			}
			made, err := m.call(ctx, "db_create", a.Conn, a.kind(), a.Name)
			err = refusal(ctx, "Failed to create database "+a.Name, made, err)
			changes = change.When(err == nil, present)
			return err
		},
		Changed: func(_, _ *data.Map) *data.Map { return changes },
		Silent:  true,
		Say:     a.comment,
		Trust:   true, // newer servers have another name for utf8
	}.Ensure(ctx)
}

// comment returns the comment, nil for the text of an error.
func (a databaseArgs) comment(o change.Outcome[*data.Map]) any {
	there := o.Before.Len() > 0
	switch {
	case o.Stage == change.StageSame:
		return fmt.Sprintf("Database %s is already present", a.Name)
	case o.Stage == change.StageWould && there:
		return a.differing(o.Before) + fmt.Sprintf("\nDatabase %s is going to be updated", a.Name)
	case o.Stage == change.StageWould:
		return fmt.Sprintf("Database %s is not present and needs to be created", a.Name)
	case o.Stage == change.StageDone && there:
		return a.differing(o.Before)
	case o.Stage == change.StageDone:
		return fmt.Sprintf("The database %s has been created", a.Name)
	}
	return nil
}

// differing describes the differences of a database from the desired one, "" for none.
func (a databaseArgs) differing(now *data.Map) string {
	comment := fmt.Sprintf("Database %s is already present", a.Name)
	same := true
	if is := data.Str(now.Value("character_set")); data.Truth(a.CharacterSet) &&
		data.Str(a.CharacterSet) != is {
		comment, same = fmt.Sprintf("Database character set %s != %s needs to be updated",
			data.Str(a.CharacterSet), is), false
	}
	if is := data.Str(now.Value("collate")); data.Truth(a.Collate) && data.Str(a.Collate) != is {
		comment, same = comment+fmt.Sprintf("\nDatabase collate %s != %s needs to be updated",
			data.Str(a.Collate), is), false
	}
	if same {
		return ""
	}
	return comment
}

// renamed reports whether a database differs only in the name of utf8, which newer servers call
// utf8mb3.
func (a databaseArgs) renamed(now *data.Map) bool {
	named := func(v any) string {
		name := data.Str(v)
		if rest, ok := strings.CutPrefix(name, "utf8"); ok && (rest == "" || rest[0] == '_') {
			return "utf8mb3" + rest
		}
		return name
	}
	return (!data.Truth(a.CharacterSet) ||
		named(a.CharacterSet) == named(now.Value("character_set"))) &&
		(!data.Truth(a.Collate) || named(a.Collate) == named(now.Value("collate")))
}

func (a databaseArgs) kind() *data.Map {
	return data.NewMap("character_set", a.CharacterSet, "collate", a.Collate)
}

// alterDatabase alters a database, reads it again and returns the changes.
func (m *module) alterDatabase(
	ctx context.Context, a databaseArgs, now *data.Map,
) (*data.Map, error) {
	_, err := m.call(ctx, "alter_db", a.Conn, a.kind(), a.Name)
	if err != nil {
		return nil, change.Raise(err)
	}
	failure := serverError(ctx)
	v, err := m.call(ctx, "db_get", a.Conn, nil, a.Name)
	if err != nil {
		return nil, change.Raise(err)
	}
	after, err := calls.FoundIn[*data.Map]("mysql.db_get", v)
	if err != nil {
		return nil, err
	}
	changes := &data.Map{}
	for _, key := range []string{"collate", "character_set"} {
		if was, is := now.Value(key), after.Value(key); !data.Equal(was, is) {
			changes.Set(key, data.NewMap("before", was, "now", is))
		}
	}
	if left := a.differing(after); failure != "" || left != "" && !a.renamed(after) {
		return changes, change.Reason(left + "\n" + failure)
	}
	return changes, nil
}

type absentDatabaseArgs struct {
	Name string
	Conn *data.Map `kwargs:"connection_args"`
}

// absentDatabase drops a database.
//
//	frank:
//	  mysql_database.absent: []
func (m *module) absentDatabase(ctx context.Context, a absentDatabaseArgs) (change.Result, error) {
	return desired{
		name: a.Name,
		there: func(ctx context.Context) (bool, error) {
			there, err := m.call(ctx, "db_exists", a.Conn, nil, a.Name)
			return seen(ctx, there, err)
		},
		make: func(ctx context.Context) error {
			gone, err := m.call(ctx, "db_remove", a.Conn, nil, a.Name)
			return refusal(ctx, "Unable to remove database "+a.Name, gone, err)
		},
		texts: change.Texts{
			Same:  fmt.Sprintf("Database %s is not present, so it cannot be removed", a.Name),
			Would: fmt.Sprintf("Database %s is present and needs to be removed", a.Name),
			Done:  fmt.Sprintf("Database %s has been removed", a.Name),
		},
	}.ensure(ctx)
}
