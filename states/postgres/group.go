package postgresrole

import (
	"context"

	"github.com/brineproject/brine/loader"
)

// Group returns the state postgres_group. There is one where there is the module postgres.
func Group() loader.Plugin { return loader.Plugin{Name: "postgres_group", New: newGroups} }

type groups struct{ kind }

func newGroups(env *loader.Env) (*loader.Module, error) {
	m := &groups{kind{"Group", "group", env}}
	if err := m.loadable(); err != nil {
		return nil, err
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absentGroup).Secret("db_password"),
		loader.F("present", m.presentGroup).Secret("password", "db_password"),
	}}, nil
}

type groupArgs struct {
	Name            string
	Createdb        any `default:"None"`
	Createroles     any `default:"None"`
	Encrypted       any `default:"None"`
	Superuser       any `default:"None"`
	Inherit         any `default:"None"`
	Login           any `default:"None"`
	Replication     any `default:"None"`
	Password        any `default:"None"`
	RefreshPassword any `default:"None"`
	Groups          any `default:"None"`
	User            any `default:"None"`
	MaintenanceDB   any `name:"maintenance_db" default:"None"`
	DbPassword      any `default:"None"`
	DbHost          any `default:"None"`
	DbPort          any `default:"None"`
	DbUser          any `default:"None"`
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
func (m *groups) presentGroup(ctx context.Context, a groupArgs) (any, error) {
	return m.present(ctx, role{
		Name: a.Name, Createdb: a.Createdb, Createroles: a.Createroles, Encrypted: a.Encrypted, Superuser: a.Superuser, Replication: a.Replication,
		Inherit: a.Inherit, Login: a.Login, Password: a.Password, RefreshPassword: a.RefreshPassword, Groups: a.Groups, User: a.User,
		MaintenanceDB: a.MaintenanceDB, DbPassword: a.DbPassword, DbHost: a.DbHost, DbPort: a.DbPort, DbUser: a.DbUser,
	})
}

// absentGroup drops a group.
//
//	frank:
//	  postgres_group.absent: []
func (m *groups) absentGroup(ctx context.Context, a absentArgs) (any, error) {
	return m.absent(ctx, a)
}
