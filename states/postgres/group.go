package postgres

import (
	"context"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Group returns the state postgres_group.
//
// What differs from Salt: changes are what the role was read to be after they were made, and what is
// still not so is a failure.
func Group() loader.Plugin {
	return state("postgres_group", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentGroup).Secret("db_password"),
			loader.F("present", m.presentGroup).Secret("password", "db_password"),
		}
	})
}

func (m *module) groups() kind { return kind{m, "Group", "group"} }

type groupArgs struct {
	Name string
	rights
	Inherit         any `default:"None"`
	Login           any `default:"None"`
	Replication     any `default:"None"`
	Password        any `default:"None"`
	RefreshPassword any `default:"None"`
	Groups          any `default:"None"`
	server
}

// presentGroup keeps a role, which may not log in unless login says otherwise.
//
// createdb, createroles, superuser, replication, inherit, login
//
//	What the role may do. None: that stays as it is.
//
// password, encrypted
//
//	Its password, and how that is stored: md5 (the default), scram-sha-256, or False.
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
//	  postgres_group.present:
//	    - createdb: True
func (m *module) presentGroup(ctx context.Context, a groupArgs) (change.Result, error) {
	return m.groups().present(ctx, role{
		Name: a.Name, rights: a.rights, Replication: a.Replication, Inherit: a.Inherit,
		Login: a.Login, Password: a.Password, RefreshPassword: a.RefreshPassword,
		Groups: a.Groups, server: a.server,
	})
}

// absentGroup drops a group.
//
//	frank:
//	  postgres_group.absent: []
func (m *module) absentGroup(ctx context.Context, a absentRoleArgs) (change.Result, error) {
	return m.groups().absent(ctx, a)
}
