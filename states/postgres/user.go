package postgres

import (
	"context"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// User returns the state postgres_user.
//
// What differs from Salt: changes are what the role was read to be after they were made, and what is
// still not so is a failure.
func User() loader.Plugin {
	return state("postgres_user", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUser).Secret("db_password"),
			loader.F("present", m.presentUser).Secret("password", "default_password", "db_password"),
		}
	})
}

func (m *module) users() kind { return kind{m, "User", "user"} }

// presentUser keeps a role, which may log in unless login says otherwise.
//
// createdb, createroles, superuser, replication, inherit, login
//
//	What the role may do. None: that stays as it is.
//
// password, encrypted
//
//	Its password, and how that is stored: md5 (the default), scram-sha-256, or False.
//
// default_password
//
//	The password of a role that is made, where password says none.
//
// valid_until
//
//	When the password expires.
//
// refresh_password
//
//	True: the password is set each time, and what is stored need not be read.
//
// groups
//
//	Groups that it is in, as a list or with commas between.
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
