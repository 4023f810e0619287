package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Database returns the state postgres_database.
//
// Difference from Salt: a database that is not as desired after the change is a failure.
func Database() loader.Plugin {
	return state("postgres_database", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentDatabase).Secret("db_password"),
			loader.F("present", m.presentDatabase).Secret("db_password"),
		}
	})
}

type databaseArgs struct {
	Name         string
	Tablespace   any `default:"None"`
	Encoding     any `default:"None"`
	LcCollate    any `default:"None"`
	LcCtype      any `default:"None"`
	Owner        any `default:"None"`
	OwnerRecurse any `default:"False"`
	Template     any `default:"None"`
	server
}

// presentDatabase creates or changes a database.
//
// tablespace, encoding, lc_collate, lc_ctype, owner, template
//
//	Properties of the database. Encoding, lc_collate and lc_ctype of an existing one cannot be
//	changed.
//
// owner_recurse
//
//	True: a new owner also gets everything in the database.
//
// user
//
//	The system user that psql runs as. Default: postgres, if the server is on this host.
//
// maintenance_db, db_host, db_port, db_user, db_password
//
//	The database to connect to, and the connection parameters.
//
//	frank:
//	  postgres_database.present:
//	    - owner: frank
func (m *module) presentDatabase(ctx context.Context, a databaseArgs) (change.Result, error) {
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			now, err := m.lookUpDatabase(ctx, a)
			if err == nil && now != nil && !a.fixed(now) {
				err = change.Reason("Database " + a.Name +
					" has wrong parameters which couldn't be changed on fly.")
			}
			return now, err
		},
		Wants: func(now *data.Map) *data.Map {
			if now == nil {
				return data.NewMap(a.Name, "Present")
			}
			return change.When(!a.free(now), data.NewMap(a.Name, "Parameters changed"))
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			if now == nil {
				return m.createDatabase(ctx, a)
			}
			return m.alterDatabase(ctx, a)
		},
		Silent: true,
		Say:    a.comment,
		Trust:  true, // the server has its own names of encodings
	}.Ensure(ctx)
}

// comment returns the comment, nil for the text of an error.
func (a databaseArgs) comment(o change.Outcome[*data.Map]) any {
	there := o.Before != nil
	switch {
	case o.Stage == change.StageSame:
		return fmt.Sprintf("Database %s is already present", a.Name)
	case o.Stage == change.StageWould && there:
		return fmt.Sprintf("Database %s exists, but parameters need to be changed", a.Name)
	case o.Stage == change.StageWould:
		return fmt.Sprintf("Database %s is set to be created", a.Name)
	case o.Stage == change.StageDone && there:
		return fmt.Sprintf("Parameters for database %s have been changed", a.Name)
	case o.Stage == change.StageDone:
		return fmt.Sprintf("The database %s has been created", a.Name)
	}
	return nil
}

// lookUpDatabase reads the database. It returns nil if it does not exist.
func (m *module) lookUpDatabase(ctx context.Context, a databaseArgs) (*data.Map, error) {
	v, err := m.call(ctx, "db_list", a.server, nil)
	if err != nil {
		return nil, err
	}
	all, err := calls.FoundIn[*data.Map]("postgres.db_list", v)
	if err != nil {
		return nil, err
	}
	return calls.FoundIn[*data.Map]("postgres.db_list", all.Value(a.Name))
}

// fixed reports whether the properties that cannot be changed are as desired.
func (a databaseArgs) fixed(now *data.Map) bool {
	return (!data.Truth(a.Encoding) ||
		strings.EqualFold(data.Str(a.Encoding), now.Text("Encoding"))) &&
		as(a.LcCollate, now, "Collate") && as(a.LcCtype, now, "Ctype")
}

// free reports whether the properties that can be changed are as desired.
func (a databaseArgs) free(now *data.Map) bool {
	return as(a.Tablespace, now, "Tablespace") && as(a.Owner, now, "Owner")
}

func as(wanted any, now *data.Map, key string) bool {
	return !data.Truth(wanted) || data.Str(wanted) == now.Text(key)
}

func (m *module) createDatabase(ctx context.Context, a databaseArgs) error {
	ok, err := m.call(ctx, "db_create", a.server,
		data.NewMap("tablespace", a.Tablespace, "encoding", a.Encoding,
			"lc_collate", a.LcCollate, "lc_ctype", a.LcCtype, "owner", a.Owner, "template",
			a.Template), a.Name)
	return refusal("Failed to create database "+a.Name, ok, err)
}

// alterDatabase alters the changeable properties, and reads the database again.
func (m *module) alterDatabase(ctx context.Context, a databaseArgs) error {
	ok, err := m.call(ctx, "db_alter", a.server,
		data.NewMap("tablespace", a.Tablespace, "owner", a.Owner,
			"owner_recurse", a.OwnerRecurse), a.Name)
	if err == nil && data.Truth(ok) {
		var now *data.Map
		now, err = m.lookUpDatabase(ctx, a)
		ok = a.free(now)
	}
	return refusal("Failed to change parameters for database "+a.Name, ok, err)
}

type absentDatabaseArgs struct {
	Name string
	server
}

// absentDatabase drops a database.
//
//	frank:
//	  postgres_database.absent: []
func (m *module) absentDatabase(ctx context.Context, a absentDatabaseArgs) (change.Result, error) {
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			return not(m.call(ctx, "db_exists", a.server, nil, a.Name))
		},
		make: func(ctx context.Context) (any, error) {
			return m.call(ctx, "db_remove", a.server, nil, a.Name)
		},
		word:  "Absent",
		texts: removal("Database", a.Name),
	}.ensure(ctx)
}

// removal returns the texts for a removed object.
func removal(kind, name string) change.Texts {
	what := kind + " " + name
	return change.Texts{
		Same:   what + " is not present, so it cannot be removed",
		Would:  what + " is set to be removed",
		Done:   what + " has been removed",
		Failed: what + " failed to be removed",
	}
}
