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
// Difference from Salt: Salt treats a server that cannot be queried as one without the schema.
func Schema() loader.Plugin {
	return state("postgres_schema", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentSchema).Secret("db_password"),
			loader.F("present", m.presentSchema).Secret("db_password"),
		}
	})
}

// A schemaServer holds the connection parameters without the database.
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

// presentSchema creates a schema in a database.
//
// dbname
//
//	The database.
//
// owner
//
//	The owner of a new schema.
//
// user
//
//	The system user that psql runs as. Default: postgres, if the server is on this host.
//
// db_host, db_port, db_user, db_password
//
//	The connection parameters of the server.
//
//	web:
//	  postgres_schema.present:
//	    - dbname: shop
//	    - owner: frank
func (m *module) presentSchema(ctx context.Context, a schemaArgs) (change.Result, error) {
	args, made := []any{a.Dbname, a.Name}, a.words()
	made.Set("owner", a.Owner)
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			now, err := m.env.Call(ctx, "postgres.schema_get", args, a.words())
			return now != nil, err
		},
		make: func(ctx context.Context) (any, error) {
			return m.env.Call(ctx, "postgres.schema_create", args, made)
		},
		word: "Present",
		texts: change.Texts{
			Same:   fmt.Sprintf("Schema %s already exists in database %s", a.Name, a.Dbname),
			Would:  fmt.Sprintf("Schema %s is set to be created in database %s.", a.Name, a.Dbname),
			Done:   fmt.Sprintf("Schema %s has been created in database %s", a.Name, a.Dbname),
			Failed: fmt.Sprintf("Failed to create schema %s in database %s", a.Name, a.Dbname),
		},
		more: data.NewMap("dbname", a.Dbname),
	}.ensure(ctx)
}

type absentSchemaArgs struct {
	Dbname string
	Name   string
	schemaServer
}

// absentSchema removes a schema from a database. The arguments are those of
// postgres_schema.present.
//
//	web:
//	  postgres_schema.absent:
//	    - dbname: shop
func (m *module) absentSchema(ctx context.Context, a absentSchemaArgs) (change.Result, error) {
	args := []any{a.Dbname, a.Name}
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			return not(m.env.Call(ctx, "postgres.schema_exists", args, a.words()))
		},
		make: func(ctx context.Context) (any, error) {
			return m.env.Call(ctx, "postgres.schema_remove", args, a.words())
		},
		word: "Absent",
		texts: change.Texts{
			Same: fmt.Sprintf("Schema %s is not present in database %s, so it cannot be removed",
				a.Name, a.Dbname),
			Would: fmt.Sprintf("Schema %s is set to be removed from database %s",
				a.Name, a.Dbname),
			Done:   fmt.Sprintf("Schema %s has been removed from database %s", a.Name, a.Dbname),
			Failed: fmt.Sprintf("Schema %s failed to be removed", a.Name),
		},
		more: data.NewMap("dbname", a.Dbname),
	}.ensure(ctx)
}
