package postgres

import (
	"context"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Group returns the state postgres_group.
//
// Differences from Salt: changes show the role as read afterwards, and remaining differences are a
// failure.
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

// presentGroup creates or changes a role, which may not log in unless login is set.
//
// createdb, createroles, superuser, replication, inherit, login
//
//	The rights of the role. None: keep the current value.
//
// password, encrypted
//
//	Its password, and how it is stored: md5 (the default), scram-sha-256, or False.
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
