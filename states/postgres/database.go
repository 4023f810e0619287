package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Database returns the state postgres_database.
//
// What differs from Salt: a database that is still not as wanted after it was changed is a failure.
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

// presentDatabase keeps a database.
//
// tablespace, encoding, lc_collate, lc_ctype, owner, template
//
//	What the database is like. Encoding, lc_collate and lc_ctype of one that is there cannot be changed.
//
// owner_recurse
//
//	True: a new owner gets all in the database, too.
//
// user
//
//	As which user of the system psql runs. Default: postgres, where the server is on this host.
//
// maintenance_db, db_host, db_port, db_user, db_password
//
//	The database to connect to, and how.
//
//	frank:
//	  postgres_database.present:
//	    - owner: frank
func (m *module) presentDatabase(ctx context.Context, a databaseArgs) (any, error) {
	now, err := m.lookUpDatabase(ctx, a)
	switch {
	case err != nil:
		return change.Failed(a.Name, err.Error()), nil
	case now != nil && a.fixed(now) && a.free(now):
		return change.Done(a.Name, fmt.Sprintf("Database %s is already present", a.Name)), nil
	case now != nil && !a.fixed(now):
		return change.Failed(a.Name, fmt.Sprintf("Database %s has wrong parameters which couldn't be changed on fly.", a.Name)), nil
	case now == nil:
		return m.createDatabase(ctx, a)
	case change.Test(ctx):
		return change.Would(a.Name, nil, fmt.Sprintf("Database %s exists, but parameters need to be changed", a.Name)), nil
	}
	ok, err := m.call(ctx, "db_alter", a.server, data.NewMap("tablespace", a.Tablespace, "owner", a.Owner, "owner_recurse", a.OwnerRecurse), a.Name)
	if err == nil && data.Truth(ok) {
		now, err = m.lookUpDatabase(ctx, a)
	}
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !a.free(now) {
		return change.Failed(a.Name, fmt.Sprintf("Failed to change parameters for database %s", a.Name)), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Parameters changed"), fmt.Sprintf("Parameters for database %s have been changed", a.Name)), nil
}

// lookUpDatabase returns the database as it is, nil where there is none.
func (m *module) lookUpDatabase(ctx context.Context, a databaseArgs) (*data.Map, error) {
	v, err := m.call(ctx, "db_list", a.server, nil)
	all, _ := v.(*data.Map)
	now, _ := all.Value(a.Name).(*data.Map)
	return now, err
}

// fixed reports whether what cannot be changed is as wanted.
func (a databaseArgs) fixed(now *data.Map) bool {
	return (!data.Truth(a.Encoding) || strings.EqualFold(data.Str(a.Encoding), now.Text("Encoding"))) &&
		as(a.LcCollate, now, "Collate") && as(a.LcCtype, now, "Ctype")
}

// free reports whether what can be changed is as wanted.
func (a databaseArgs) free(now *data.Map) bool {
	return as(a.Tablespace, now, "Tablespace") && as(a.Owner, now, "Owner")
}

func as(wanted any, now *data.Map, key string) bool {
	return !data.Truth(wanted) || data.Str(wanted) == now.Text(key)
}

func (m *module) createDatabase(ctx context.Context, a databaseArgs) (any, error) {
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Database %s is set to be created", a.Name)), nil
	}
	ok, err := m.call(ctx, "db_create", a.server, data.NewMap("tablespace", a.Tablespace, "encoding", a.Encoding, "lc_collate", a.LcCollate,
		"lc_ctype", a.LcCtype, "owner", a.Owner, "template", a.Template), a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(ok) {
		return change.Failed(a.Name, fmt.Sprintf("Failed to create database %s", a.Name)), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Present"), fmt.Sprintf("The database %s has been created", a.Name)), nil
}

type absentDatabaseArgs struct {
	Name string
	server
}

// absentDatabase drops a database.
//
//	frank:
//	  postgres_database.absent: []
func (m *module) absentDatabase(ctx context.Context, a absentDatabaseArgs) (any, error) {
	there, err := m.call(ctx, "db_exists", a.server, nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(there) {
		return change.Done(a.Name, fmt.Sprintf("Database %s is not present, so it cannot be removed", a.Name)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Database %s is set to be removed", a.Name)), nil
	}
	gone, err := m.call(ctx, "db_remove", a.server, nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(gone) {
		return change.Failed(a.Name, fmt.Sprintf("Database %s failed to be removed", a.Name)), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Absent"), fmt.Sprintf("Database %s has been removed", a.Name)), nil
}
