// Package postgres is Salt's states postgres_cluster, postgres_database, postgres_extension,
// postgres_group, postgres_initdb, postgres_language, postgres_privileges, postgres_schema,
// postgres_tablespace and postgres_user for a PostgreSQL server (salt/states/postgres_*.py). It uses
// the module postgres.
//
// Difference from Salt in all of them: failing to query the server is a failure, in test mode too.
package postgres

import (
	"cmp"
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A module is shared by all states of the package.
type module struct{ env *loader.Env }

// state returns a state that loads only if the module postgres does.
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

// desired is something that is to exist on the server, or not to exist.
type desired struct {
	name  string
	is    func(ctx context.Context) (any, error) // reports whether it is as desired
	make  func(ctx context.Context) (any, error) // applies it, and reports success
	word  string                                 // verb in the changes
	key   string                                 // in the changes; "" means name
	texts change.Texts
	trust bool      // do not verify the result
	more  *data.Map // additional keys of the result
}

// ensure brings about the desired outcome. An error of the server is a failure.
func (w desired) ensure(ctx context.Context) (change.Result, error) {
	return change.Thing[bool]{
		Name: w.name,
		Look: func(ctx context.Context) (bool, error) {
			is, err := w.is(ctx)
			return data.Truth(is), err
		},
		Wants: func(is bool) *data.Map { return change.When(!is, data.NewMap(cmp.Or(w.key, w.name), w.word)) },
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

// not negates a boolean answer.
func not(yes any, err error) (any, error) { return !data.Truth(yes), err }

// refusal returns the error of a function, or for a negative answer the text.
func refusal(text string, ok any, err error) error {
	if err == nil && !data.Truth(ok) {
		return change.Reason(text)
	}
	return err
}

// A server holds the system user and the parameters for connecting to the server.
type server struct {
	User          any `default:"None"`
	MaintenanceDB any `default:"None"`
	address
	DbUser any `default:"None"`
}

// An address holds the connection parameters that all of Salt's functions have in the same order.
type address struct {
	DbPassword any `default:"None"`
	DbHost     any `default:"None"`
	DbPort     any `default:"None"`
}

// A userServer is a server whose parameters are in another order of Salt's.
type userServer struct {
	User          any `default:"None"`
	MaintenanceDB any `default:"None"`
	DbUser        any `default:"None"`
	address
}

func (s userServer) server() server {
	return server{s.User, s.MaintenanceDB, s.address, s.DbUser}
}
