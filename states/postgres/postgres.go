// Package postgres is Salt's states postgres_database, postgres_extension, postgres_group,
// postgres_privileges, postgres_schema, postgres_tablespace and postgres_user for a PostgreSQL server
// (salt/states/postgres_*.py). The module postgres does the work.
//
// What differs from Salt in all of them: a server that cannot be asked is a failure, in test mode too.
package postgres

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A module does the work of all states of the package.
type module struct{ env *loader.Env }

// state returns a state that is there where the module postgres is.
func state(name string, funcs func(m *module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("postgres.user_exists") {
			return nil, errors.New("Unable to load postgres module.  Make sure `postgres.bins_dir` is set.") //nolint:staticcheck // Salt's text
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// call calls a function of the module postgres on a server.
func (m *module) call(
	ctx context.Context, fun string, s server, kwargs *data.Map, args ...any,
) (any, error) {
	all := data.NewMap("maintenance_db", s.MaintenanceDB, "runas", s.User,
		"host", s.DbHost, "user", s.DbUser, "port", s.DbPort, "password", s.DbPassword)
	all.Update(kwargs)
	return m.env.Call(ctx, "postgres."+fun, args, all)
}

// A wish is something that the server has, or does not have, as a state wants it.
type wish struct {
	name  string
	is    func(ctx context.Context) (any, error) // whether it is so
	make  func(ctx context.Context) (any, error) // makes it so, and answers whether it did
	word  string                                 // what changes say
	texts change.Texts
	trust bool      // that it was made so is not looked at again
	more  *data.Map // what the result has, too
}

// ensure brings the wish about. What the server refuses is a failure.
func (w wish) ensure(ctx context.Context) (change.Result, error) {
	return change.Thing[bool]{
		Name: w.name,
		Look: func(ctx context.Context) (bool, error) {
			is, err := w.is(ctx)
			return data.Truth(is), err
		},
		Wants: func(is bool) *data.Map { return change.When(!is, data.NewMap(w.name, w.word)) },
		Apply: func(ctx context.Context, _ bool) error {
			ok, err := w.make(ctx)
			return refusal(w.texts.Failed, ok, err)
		},
		Texts:  w.texts,
		Silent: true,
		Trust:  w.trust,
		More:   w.more,
	}.Ensure(ctx)
}

// not returns the opposite of the answer to a question.
func not(yes any, err error) (any, error) { return !data.Truth(yes), err }

// refusal returns the error of a function, or the text for one that answered no.
func refusal(text string, ok any, err error) error {
	if err == nil && !data.Truth(ok) {
		return change.Reason(text)
	}
	return err
}

// A server is as which user of this system, and how, to connect to the server.
type server struct {
	User          any `default:"None"`
	MaintenanceDB any `default:"None"`
	address
	DbUser any `default:"None"`
}

// An address is what Salt's functions have in one order all.
type address struct {
	DbPassword any `default:"None"`
	DbHost     any `default:"None"`
	DbPort     any `default:"None"`
}

// A userServer is a server in another order of Salt's.
type userServer struct {
	User          any `default:"None"`
	MaintenanceDB any `default:"None"`
	DbUser        any `default:"None"`
	address
}

func (s userServer) server() server {
	return server{s.User, s.MaintenanceDB, s.address, s.DbUser}
}
