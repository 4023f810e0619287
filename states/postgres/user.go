package postgres

import (
	"context"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// User returns the state postgres_user.
//
// Differences from Salt: changes show the role as read afterwards, and remaining differences are a
// failure.
func User() loader.Plugin {
	return state("postgres_user", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUser).Secret("db_password"),
			loader.F("present", m.presentUser).Secret("password", "default_password",
				"db_password"),
		}
	})
}

func (m *module) users() kind { return kind{m, "User", "user"} }

// presentUser creates or changes a role, which may log in unless login is False.
//
// createdb, createroles, superuser, replication, inherit, login
//
//	The rights of the role. None: keep the current value.
//
// password, encrypted
//
//	Its password, and how it is stored: md5 (the default), scram-sha-256, or False.
//
// default_password
//
//	The password of a new role if password is not given.
//
// valid_until
//
//	When the password expires.
//
// refresh_password
//
//	True: set the password in each run without reading the stored one.
//
// groups
//
//	Groups that contain the role, as a list or separated by commas.
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
//	  postgres_user.present:
//	    - createdb: True
func (m *module) presentUser(ctx context.Context, a role) (change.Result, error) {
	return m.users().present(ctx, a)
}

// absentUser drops a user.
//
//	frank:
//	  postgres_user.absent: []
func (m *module) absentUser(ctx context.Context, a absentRoleArgs) (change.Result, error) {
	return m.users().absent(ctx, a)
}
