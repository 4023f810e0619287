// Package mongodb has Salt's states mongodb_database and mongodb_user (salt/states/mongodb_*.py). They use
// the module mongodb.
//
// Differences from Salt: the roles of a user are brought to what is wanted, whereas Salt only reports them.
// Errors of the server fail the states.
package mongodb

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Database returns the state mongodb_database.
func Database() loader.Plugin {
	return state("mongodb_database", func(m *module) []loader.Func {
		return []loader.Func{loader.F("absent", m.absentDatabase)}
	})
}

// User returns the state mongodb_user.
func User() loader.Plugin {
	return state("mongodb_user", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUser),
			loader.F("present", m.presentUser).Secret("passwd"),
		}
	})
}

type module struct{ env *loader.Env }

func state(name string, funcs func(*module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("mongodb.db_exists") {
			return nil, errors.New("mongodb module could not be loaded")
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// call calls a function of the module. Its errors are the state's comment.
func (m *module) call(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error) {
	v, err := m.env.Call(ctx, "mongodb."+fun, args, kwargs)
	return v, change.Except(err, loader.KindExecution, loader.KindInvocation)
}

// do calls a function that returns True, or a text or False.
func (m *module) do(ctx context.Context, failed, fun string, args []any, kwargs *data.Map) error {
	v, err := m.call(ctx, fun, args, kwargs)
	switch text, ok := v.(string); {
	case err != nil || v == true:
		return err
	case ok:
		return change.Reason(text)
	}
	return change.Reason(failed)
}

type databaseArgs struct {
	Name     string
	User     any `default:"None"`
	Password any `default:"None"`
	Host     any `default:"None"`
	Port     any `default:"None"`
	Authdb   any `default:"None"`
}

// absentDatabase keeps a database removed. The arguments of the login are those of the module mongodb.
//
//	mydatabase:
//	  mongodb_database.absent:
//	    - user: admin
//	    - password: sekrit
func (m *module) absentDatabase(ctx context.Context, a databaseArgs) (change.Result, error) {
	kwargs := data.NewMap("user", a.User, "password", a.Password, "host", a.Host, "port", a.Port, "authdb",
		a.Authdb)
	database := "Database " + a.Name
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			is, err := m.call(ctx, "db_exists", []any{a.Name}, kwargs)
			return data.Truth(is), err
		},
		Wants: func(is bool) *data.Map { return change.When(is, data.NewMap(a.Name, "Absent")) },
		Apply: func(ctx context.Context, _ bool) error {
			return m.do(ctx, "Failed to remove "+database, "db_remove", []any{a.Name}, kwargs)
		},
		Texts: change.Texts{Same: database + " is not present",
			Would: database + " is present and needs to be removed",
			Done:  database + " has been removed"},
		Silent: true,
	}.Ensure(ctx)
}

type userArgs struct {
	Name     string
	Passwd   any
	Database string `default:"'admin'"`
	User     any    `default:"None"`
	Password any    `default:"None"`
	Host     any    `default:"'localhost'"`
	Port     any    `default:"27017"`
	Authdb   any    `default:"None"`
	Roles    []any  `default:"None"`
}

// find returns a user of a database, or nil.
func (m *module) find(ctx context.Context, name string, kwargs *data.Map) (*data.Map, error) {
	v, err := m.call(ctx, "user_find", []any{name}, kwargs)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if failed, no := v.(data.Tuple); no && len(failed) == 2 {
		return nil, change.Reason("Mongo Err: " + data.Str(failed[1]))
	}
	if !ok || len(list) == 0 {
		return nil, nil
	}
	user, _ := list[0].(*data.Map)
	return user, nil
}

// missing returns the texts of a that are not in b.
func missing(a, b []string) []any {
	left := []any{}
	for _, text := range a {
		if !slices.Contains(b, text) {
			left = append(left, text)
		}
	}
	return left
}

// presentUser keeps a user of a database.
//
// passwd
//
//	The password of a new user.
//
// database
//
//	The database. Default: admin.
//
// roles
//
//	The user's roles in it. Roles in other databases stay.
//
// user, password, host, port, authdb
//
//	As in the module mongodb. The default of host is localhost.
//
//	myapp:
//	  mongodb_user.present:
//	    - passwd: myapppass
//	    - database: admin
//	    - roles: [readWrite]
func (m *module) presentUser(ctx context.Context, a userArgs) (change.Result, error) {
	if _, err := loader.Int(a.Port); err != nil {
		return change.Refuse(a.Name, "Port ("+data.Str(a.Port)+") is not an integer.")
	}
	kwargs := data.NewMap("user", a.User, "password", a.Password, "host", a.Host, "port", a.Port,
		"database", a.Database, "authdb", a.Authdb)
	has := func(user *data.Map) []string {
		var names []string
		roles, _ := user.Value("roles").([]any)
		for _, v := range roles {
			if role, _ := v.(*data.Map); role.Text("db") == a.Database {
				names = append(names, role.Text("role"))
			}
		}
		return names
	}
	wanted := data.Texts(a.Roles)
	title := "User " + a.Name
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.find(ctx, a.Name, kwargs) },
		Wants: func(now *data.Map) *data.Map {
			if now == nil {
				return data.NewMap(a.Name, "Present")
			}
			names := has(now)
			return change.When(len(missing(wanted, names))+len(missing(names, wanted)) > 0, data.NewMap(a.Name,
				data.NewMap("database", a.Database, "roles", change.OldNew(data.Values(names), data.Values(wanted)))))
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			if now == nil {
				all := kwargs.Clone()
				all.Set("roles", a.Roles)
				return m.do(ctx, "Failed to create user "+a.Name, "user_create", []any{a.Name, a.Passwd}, all)
			}
			names := has(now)
			for fun, roles := range map[string][]any{"user_grant_roles": missing(wanted, names),
				"user_revoke_roles": missing(names, wanted)} {
				if len(roles) == 0 {
					continue
				}
				if err := m.do(ctx, "", fun, []any{a.Name, roles}, kwargs); err != nil {
					return err
				}
			}
			return nil
		},
		Texts: change.Texts{Same: title + " is already present"},
		Say: func(o change.Outcome[*data.Map]) any {
			switch {
			case o.Stage == change.StageWould && o.Before == nil:
				return title + " is not present and needs to be created"
			case o.Stage == change.StageWould:
				return title + " is present and its roles need to be changed"
			case o.Stage == change.StageDone && o.Before == nil:
				return title + " has been created"
			case o.Stage == change.StageDone:
				return title + " has been changed"
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

type absentUserArgs struct {
	Name     string
	User     any    `default:"None"`
	Password any    `default:"None"`
	Host     any    `default:"None"`
	Port     any    `default:"None"`
	Database string `default:"'admin'"`
	Authdb   any    `default:"None"`
}

// absentUser keeps a user of a database removed.
//
//	myapp:
//	  mongodb_user.absent
func (m *module) absentUser(ctx context.Context, a absentUserArgs) (change.Result, error) {
	kwargs := data.NewMap("user", a.User, "password", a.Password, "host", a.Host, "port", a.Port,
		"database", a.Database, "authdb", a.Authdb)
	title := "User " + a.Name
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			is, err := m.call(ctx, "user_exists", []any{a.Name}, kwargs)
			return data.Truth(is), err
		},
		Wants: func(is bool) *data.Map { return change.When(is, data.NewMap(a.Name, "Absent")) },
		Apply: func(ctx context.Context, _ bool) error {
			return m.do(ctx, "Failed to remove user "+a.Name, "user_remove", []any{a.Name}, kwargs)
		},
		Texts: change.Texts{Same: title + " is not present", Would: title + " is present and needs to be removed",
			Done: title + " has been removed"},
		Silent: true,
	}.Ensure(ctx)
}
