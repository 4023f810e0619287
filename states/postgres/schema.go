package postgres

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Schema returns the state postgres_schema.
//
// What differs from Salt: to Salt a server that cannot be asked has no schema.
func Schema() loader.Plugin {
	return state("postgres_schema", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentSchema).Secret("db_password"),
			loader.F("present", m.presentSchema).Secret("db_password"),
		}
	})
}

// A schemaServer is a server; the database is none of its parameters.
type schemaServer struct {
	User   any `default:"None"`
	DbUser any `default:"None"`
	address
}

func (s schemaServer) words() *data.Map {
	return data.NewMap("db_user", s.DbUser, "db_password", s.DbPassword, "db_host", s.DbHost,
		"db_port", s.DbPort, "user", s.User)
}

type schemaArgs struct {
	Dbname string
	Name   string
	Owner  any `default:"None"`
	schemaServer
}

// presentSchema keeps a schema in a database.
//
// dbname
//
//	The database.
//
// owner
//
//	To whom a new schema belongs.
//
// user
//
//	As which user of the system psql runs. Default: postgres, where the server is on this host.
//
// db_host, db_port, db_user, db_password
//
//	The server, and how to connect to it.
//
//	web:
//	  postgres_schema.present:
//	    - dbname: shop
//	    - owner: frank
func (m *module) presentSchema(ctx context.Context, a schemaArgs) (any, error) {
	now, err := m.env.Call(ctx, "postgres.schema_get", []any{a.Dbname, a.Name}, a.words())
	switch {
	case err != nil:
		return of(a.Dbname, change.Failed(a.Name, err.Error())), nil
	case now != nil:
		return of(a.Dbname, change.Done(a.Name, fmt.Sprintf("Schema %s already exists in database %s", a.Name, a.Dbname))), nil
	case change.Test(ctx):
		return of(a.Dbname, change.Would(a.Name, nil, fmt.Sprintf("Schema %s is set to be created in database %s.", a.Name, a.Dbname))), nil
	}
	kwargs := a.words()
	kwargs.Set("owner", a.Owner)
	made, err := m.env.Call(ctx, "postgres.schema_create", []any{a.Dbname, a.Name}, kwargs)
	switch {
	case err != nil:
		return of(a.Dbname, change.Failed(a.Name, err.Error())), nil
	case !data.Truth(made):
		return of(a.Dbname, change.Failed(a.Name, fmt.Sprintf("Failed to create schema %s in database %s", a.Name, a.Dbname))), nil
	}
	comment := fmt.Sprintf("Schema %s has been created in database %s", a.Name, a.Dbname)
	return of(a.Dbname, change.New(a.Name, true, data.NewMap(a.Name, "Present"), comment)), nil
}

// of adds the database to a result.
func of(database string, ret *data.Map) *data.Map {
	ret.Set("dbname", database)
	return ret
}

type absentSchemaArgs struct {
	Dbname string
	Name   string
	schemaServer
}

// absentSchema removes a schema from a database. The arguments are those of postgres_schema.present.
//
//	web:
//	  postgres_schema.absent:
//	    - dbname: shop
func (m *module) absentSchema(ctx context.Context, a absentSchemaArgs) (any, error) {
	there, err := m.env.Call(ctx, "postgres.schema_exists", []any{a.Dbname, a.Name}, a.words())
	switch {
	case err != nil:
		return of(a.Dbname, change.Failed(a.Name, err.Error())), nil
	case !data.Truth(there):
		comment := fmt.Sprintf("Schema %s is not present in database %s, so it cannot be removed", a.Name, a.Dbname)
		return of(a.Dbname, change.Done(a.Name, comment)), nil
	case change.Test(ctx):
		return of(a.Dbname, change.Would(a.Name, nil, fmt.Sprintf("Schema %s is set to be removed from database %s", a.Name, a.Dbname))), nil
	}
	gone, err := m.env.Call(ctx, "postgres.schema_remove", []any{a.Dbname, a.Name}, a.words())
	switch {
	case err != nil:
		return of(a.Dbname, change.Failed(a.Name, err.Error())), nil
	case !data.Truth(gone):
		return of(a.Dbname, change.Failed(a.Name, fmt.Sprintf("Schema %s failed to be removed", a.Name))), nil
	}
	comment := fmt.Sprintf("Schema %s has been removed from database %s", a.Name, a.Dbname)
	return of(a.Dbname, change.New(a.Name, true, data.NewMap(a.Name, "Absent"), comment)), nil
}
