package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Privileges returns the state postgres_privileges.
//
// Difference from Salt: a role that already has privileges gets the right to grant them, whereas
// Salt fails.
func Privileges() loader.Plugin {
	return state("postgres_privileges", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentPrivileges).Secret("db_password"),
			loader.F("present", m.presentPrivileges).Secret("db_password"),
		}
	})
}

// A privilege holds the arguments of functions about privileges.
type privilege struct {
	Name       string
	ObjectName string
	ObjectType string
	Privileges []any `default:"None"`
}

// A place is where a privilege applies: a schema, and a server.
type place struct {
	Prepend       any `default:"'public'"`
	MaintenanceDB any `default:"None"`
	User          any `default:"None"`
	address
	DbUser any `default:"None"`
}

func (p place) server() server {
	return server{p.User, p.MaintenanceDB, p.address, p.DbUser}
}

type privilegesArgs struct {
	privilege
	GrantOption any `default:"None"`
	place
}

// joined returns privileges separated by commas, or None for none.
func joined(privileges []any) any {
	if len(privileges) == 0 {
		return nil
	}
	return strings.Join(data.Texts(privileges), ",")
}

// description describes what is granted: the group, or the privileges.
func description(kind, name string, privileges any) string {
	if kind == "group" {
		return name
	}
	return data.Str(privileges)
}

// presentPrivileges grants a role privileges on an object, or membership in a group.
//
// object_name, object_type
//
//	The object, and its type: table, sequence, schema, tablespace, language, database, group,
//	function.
//
// privileges
//
//	A list of privileges. Not used for a group.
//
// grant_option
//
//	True: the role may grant them to others.
//
// prepend
//
//	The schema of a table, a sequence or a function.
//
// user
//
//	The system user that psql runs as. Default: postgres, if the server is on this host.
//
// maintenance_db, db_host, db_port, db_user, db_password
//
//	The database to connect to, and the connection parameters.
//
//	baruwa:
//	  postgres_privileges.present:
//	    - object_name: awl
//	    - object_type: table
//	    - privileges:
//	      - SELECT
//	      - INSERT
//	    - maintenance_db: testdb
func (m *module) presentPrivileges(ctx context.Context, a privilegesArgs) (change.Result, error) {
	privileges := joined(a.Privileges)
	kwargs := data.NewMap("privileges", privileges, "grant_option", a.GrantOption,
		"prepend", a.Prepend)
	ask := func(fun string) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			return m.call(ctx, fun, a.server(), kwargs, a.Name, a.ObjectName, a.ObjectType)
		}
	}
	words := description(a.ObjectType, a.ObjectName, privileges)
	return desired{
		name: a.Name,
		is:   ask("has_privileges"),
		make: ask("privileges_grant"),
		word: "Present",
		texts: change.Texts{
			Same:   "The requested privilege(s) are already set",
			Would:  fmt.Sprintf("The privilege(s): %s are set to be granted to %s", words, a.Name),
			Done:   fmt.Sprintf("The privilege(s): %s have been granted to %s", words, a.Name),
			Failed: fmt.Sprintf("Failed to grant privilege(s): %s to %s", words, a.Name),
		},
		trust: true, // the result is not verified, as in Salt
	}.ensure(ctx)
}

type absentPrivilegesArgs struct {
	privilege
	place
}

// absentPrivileges revokes privileges on an object from a role, or removes the role from a group.
// The arguments are those of present.
//
//	baruwa:
//	  postgres_privileges.absent:
//	    - object_name: awl
//	    - object_type: table
//	    - privileges:
//	      - SELECT
//	    - maintenance_db: testdb
func (m *module) absentPrivileges(
	ctx context.Context, a absentPrivilegesArgs,
) (change.Result, error) {
	privileges := joined(a.Privileges)
	kwargs := data.NewMap("privileges", privileges, "prepend", a.Prepend)
	ask := func(ctx context.Context, fun string) (any, error) {
		return m.call(ctx, fun, a.server(), kwargs, a.Name, a.ObjectName, a.ObjectType)
	}
	words := description(a.ObjectType, a.ObjectName, privileges)
	return desired{
		name: a.Name,
		is:   func(ctx context.Context) (any, error) { return not(ask(ctx, "has_privileges")) },
		make: func(ctx context.Context) (any, error) { return ask(ctx, "privileges_revoke") },
		word: "Absent",
		texts: change.Texts{
			Same: "The requested privilege(s) are not set so cannot be revoked",
			Would: fmt.Sprintf("The privilege(s): %s are set to be revoked from %s",
				words, a.Name),
			Done:   fmt.Sprintf("The privilege(s): %s have been revoked from %s", words, a.Name),
			Failed: fmt.Sprintf("Failed to revoke privilege(s): %s from %s", words, a.Name),
		},
		trust: true, // the result is not verified, as in Salt
	}.ensure(ctx)
}
