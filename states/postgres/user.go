package postgresrole

import (
	"context"

	"github.com/brineproject/brine/loader"
)

// User returns the state postgres_user. There is one where there is the module postgres.
func User() loader.Plugin { return loader.Plugin{Name: "postgres_user", New: newUsers} }

type users struct{ kind }

func newUsers(env *loader.Env) (*loader.Module, error) {
	m := &users{kind{"User", "user", env}}
	if err := m.loadable(); err != nil {
		return nil, err
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absentUser).Secret("db_password"),
		loader.F("present", m.presentUser).Secret("password", "default_password", "db_password"),
	}}, nil
}

type userArgs struct {
	Name            string
	Createdb        any `default:"None"`
	Createroles     any `default:"None"`
	Encrypted       any `default:"None"`
	Superuser       any `default:"None"`
	Replication     any `default:"None"`
	Inherit         any `default:"None"`
	Login           any `default:"None"`
	Password        any `default:"None"`
	DefaultPassword any `default:"None"`
	RefreshPassword any `default:"None"`
	ValidUntil      any `default:"None"`
	Groups          any `default:"None"`
	User            any `default:"None"`
	MaintenanceDB   any `name:"maintenance_db" default:"None"`
	DbPassword      any `default:"None"`
	DbHost          any `default:"None"`
	DbPort          any `default:"None"`
	DbUser          any `default:"None"`
}

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
func (m *users) presentUser(ctx context.Context, a userArgs) (any, error) {
	return m.present(ctx, role(a))
}

// absentUser drops a user.
//
//	frank:
//	  postgres_user.absent: []
func (m *users) absentUser(ctx context.Context, a absentArgs) (any, error) {
	return m.absent(ctx, a)
}
