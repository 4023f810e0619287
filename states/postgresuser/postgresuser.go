// Package postgresuser is Salt's state postgres_user: it keeps roles that may log in of a PostgreSQL server
// (salt/states/postgres_user.py). The module postgres does the work.
//
// What differs from Salt: a server that cannot be asked is a failure, in test mode too; changes are what the role was read to be after
// they were made, and what is still not so is a failure.
package postgresuser

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pgverifier"
	"github.com/brineproject/brine/state/change"
)

type presentArgs struct {
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

func (a presentArgs) server() *data.Map {
	return data.NewMap("maintenance_db", a.MaintenanceDB, "runas", a.User, "host", a.DbHost, "user", a.DbUser, "port", a.DbPort, "password", a.DbPassword)
}

// present keeps a role, which may log in unless login says otherwise.
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
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	now, err := m.role(ctx, a)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if now == nil {
		return m.create(ctx, a)
	}
	update, err := m.differing(ctx, a, now, data.Truth(a.RefreshPassword))
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	switch {
	case update.Len() == 0:
		return change.Done(a.Name, fmt.Sprintf("User %s is already present", a.Name)), nil
	case change.Test(ctx):
		return change.Would(a.Name, data.NewMap(a.Name, update), fmt.Sprintf("User %s is set to be updated", a.Name)), nil
	}
	password := a.Password
	if !update.Has("password") {
		password = nil
	}
	if ok, err := m.call(ctx, "user_update", a.server(), a.role(password), a.Name); err != nil || !data.Truth(ok) {
		return failure(a.Name, fmt.Sprintf("Failed to update user %s", a.Name), err), nil
	}
	if now, err = m.role(ctx, a); err == nil && now != nil {
		var left *data.Map
		if left, err = m.differing(ctx, a, now, false); err == nil && left.Len() > 0 {
			return change.Failed(a.Name, fmt.Sprintf("After the change this is still not as wanted: %s", data.Repr(left))), nil
		}
	}
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, update), fmt.Sprintf("The user %s has been updated", a.Name)), nil
}

func failure(name, comment string, err error) *data.Map {
	if err != nil {
		comment += ": " + err.Error()
	}
	return change.Failed(name, comment)
}

// role returns the role as it is, nil where there is none.
func (m *module) role(ctx context.Context, a presentArgs) (*data.Map, error) {
	v, err := m.call(ctx, "role_get", a.server(), data.NewMap("return_password", !data.Truth(a.RefreshPassword)), a.Name)
	now, _ := v.(*data.Map)
	return now, err
}

// role returns the arguments of the function that makes or changes the role.
func (a presentArgs) role(password any) *data.Map {
	return data.NewMap("createdb", a.Createdb, "createroles", a.Createroles, "encrypted", a.Encrypted, "superuser", a.Superuser, "login", a.Login,
		"inherit", a.Inherit, "replication", a.Replication, "rolepassword", password, "groups", a.Groups, "valid_until", a.ValidUntil)
}

func (m *module) create(ctx context.Context, a presentArgs) (any, error) {
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("User %s is set to be created", a.Name)), nil
	}
	password := a.Password
	if password == nil {
		password = a.DefaultPassword
	}
	if ok, err := m.call(ctx, "user_create", a.server(), a.role(password), a.Name); err != nil || !data.Truth(ok) {
		return failure(a.Name, fmt.Sprintf("Failed to create user %s", a.Name), err), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Present"), fmt.Sprintf("The user %s has been created", a.Name)), nil
}

// way returns how the password is to be stored.
func (a presentArgs) way() string {
	switch a.Encrypted {
	case nil, true:
		return pgverifier.MD5
	case false:
		return pgverifier.Plain
	}
	return data.Str(a.Encrypted)
}

// differing returns what of a role is not as wanted.
func (m *module) differing(ctx context.Context, a presentArgs, now *data.Map, refresh bool) (*data.Map, error) {
	update := data.NewMap()
	for _, o := range []struct {
		name, told string
		wanted     any
	}{
		{"createdb", "can create databases", a.Createdb}, {"inherit", "inherits privileges", a.Inherit}, {"login", "can login", a.Login},
		{"createroles", "can create roles", a.Createroles}, {"replication", "replication", a.Replication}, {"superuser", "superuser", a.Superuser},
	} {
		if o.wanted != nil && !data.Equal(now.Value(o.told), o.wanted) {
			update.Set(o.name, o.wanted)
		}
	}
	if a.Password != nil && (refresh || now.Has("password") && !pgverifier.Same(a.Name, data.Str(a.Password), now.Text("password"), a.way())) {
		update.Set("password", true)
	}
	if a.ValidUntil != nil {
		until, err := m.expiry(ctx, a)
		if err != nil {
			return nil, err
		}
		if !data.Equal(until, now.Value("expiry time")) {
			update.Set("valid_until", a.ValidUntil)
		}
	}
	if missing := a.missing(now); len(missing) > 0 {
		update.Set("groups", missing)
	}
	return update, nil
}

// expiry returns when the password is to expire, as the server writes times; None for never.
func (m *module) expiry(ctx context.Context, a presentArgs) (any, error) {
	text := strings.ReplaceAll(data.Str(a.ValidUntil), "'", "''")
	v, err := m.call(ctx, "psql_query", a.server(), nil, "SELECT '"+text+"'::timestamp(0) AS dt")
	rows, _ := v.([]any)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	row, _ := rows[0].(*data.Map)
	if until := row.Text("dt"); len(until) == len("2006-01-02 15:04:05") {
		return until, nil
	}
	return nil, nil
}

// missing returns the groups that the role is to be in and is not.
func (a presentArgs) missing(now *data.Map) []any {
	wanted, ok := a.Groups.([]any)
	if text, isText := a.Groups.(string); isText && text != "" {
		for name := range strings.SplitSeq(text, ",") {
			wanted = append(wanted, name)
		}
		ok = true
	}
	if !ok {
		return nil
	}
	has, _ := now.Value("groups").([]any)
	var list []any
	for _, name := range wanted {
		if !slices.ContainsFunc(has, func(g any) bool { return data.Equal(g, name) }) {
			list = append(list, name)
		}
	}
	return list
}

type absentArgs struct {
	Name          string
	User          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	DbPassword    any `default:"None"`
	DbHost        any `default:"None"`
	DbPort        any `default:"None"`
	DbUser        any `default:"None"`
}

func (a absentArgs) server() *data.Map {
	return data.NewMap("maintenance_db", a.MaintenanceDB, "runas", a.User, "host", a.DbHost, "user", a.DbUser, "port", a.DbPort, "password", a.DbPassword)
}

// absent drops a user.
//
//	frank:
//	  postgres_user.absent: []
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	there, err := m.call(ctx, "user_exists", a.server(), nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(there) {
		return change.Done(a.Name, fmt.Sprintf("User %s is not present, so it cannot be removed", a.Name)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("User %s is set to be removed", a.Name)), nil
	}
	gone, err := m.call(ctx, "user_remove", a.server(), nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(gone) {
		return change.Failed(a.Name, fmt.Sprintf("User %s failed to be removed", a.Name)), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Absent"), fmt.Sprintf("User %s has been removed", a.Name)), nil
}
