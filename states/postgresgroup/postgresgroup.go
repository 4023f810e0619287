// Package postgresgroup is Salt's state postgres_group: it keeps roles that others are in of a PostgreSQL server
// (salt/states/postgres_group.py). The module postgres does the work.
//
// What differs from Salt: a server that cannot be asked is a failure, in test mode too; changes are what the role was read to be after
// they were made, and what is still not so is a failure.
package postgresgroup

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

func (a presentArgs) server() *data.Map {
	return data.NewMap("maintenance_db", a.MaintenanceDB, "runas", a.User, "host", a.DbHost, "user", a.DbUser, "port", a.DbPort, "password", a.DbPassword)
}

// present keeps a role, which may not log in unless login says otherwise.
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
		return change.Done(a.Name, fmt.Sprintf("Group %s is already present", a.Name)), nil
	case change.Test(ctx):
		return change.Would(a.Name, data.NewMap(a.Name, update), fmt.Sprintf("Group %s is set to be updated", a.Name)), nil
	}
	password := a.Password
	if !update.Has("password") {
		password = nil
	}
	if ok, err := m.call(ctx, "group_update", a.server(), a.role(password), a.Name); err != nil || !data.Truth(ok) {
		return failure(a.Name, fmt.Sprintf("Failed to update group %s", a.Name), err), nil
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
	return change.New(a.Name, true, data.NewMap(a.Name, update), fmt.Sprintf("The group %s has been updated", a.Name)), nil
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
		"inherit", a.Inherit, "replication", a.Replication, "rolepassword", password, "groups", a.Groups)
}

func (m *module) create(ctx context.Context, a presentArgs) (any, error) {
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Group %s is set to be created", a.Name)), nil
	}
	password := a.Password
	if ok, err := m.call(ctx, "group_create", a.server(), a.role(password), a.Name); err != nil || !data.Truth(ok) {
		return failure(a.Name, fmt.Sprintf("Failed to create group %s", a.Name), err), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Present"), fmt.Sprintf("The group %s has been created", a.Name)), nil
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
func (m *module) differing(_ context.Context, a presentArgs, now *data.Map, refresh bool) (*data.Map, error) {
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
	if missing := a.missing(now); len(missing) > 0 {
		update.Set("groups", missing)
	}
	return update, nil
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

// absent drops a group.
//
//	frank:
//	  postgres_group.absent: []
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	there, err := m.call(ctx, "user_exists", a.server(), nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(there) {
		return change.Done(a.Name, fmt.Sprintf("Group %s is not present, so it cannot be removed", a.Name)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Group %s is set to be removed", a.Name)), nil
	}
	gone, err := m.call(ctx, "group_remove", a.server(), nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(gone) {
		return change.Failed(a.Name, fmt.Sprintf("Group %s failed to be removed", a.Name)), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Absent"), fmt.Sprintf("Group %s has been removed", a.Name)), nil
}
