// Package mysql is Salt's states mysql_database, mysql_grants, mysql_query and mysql_user for MySQL
// and MariaDB servers (salt/states/mysql_*.py). It uses the module mysql and passes on arguments
// that begin with connection_.
package mysql

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A module is shared by all states of the package.
type module struct{ env *loader.Env }

// state returns a state that loads only if the module mysql does.
func state(name string, funcs func(m *module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("mysql.query") {
			return nil, errors.New("mysql module could not be loaded")
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// call calls a function of the module mysql with the connection arguments. It discards the server's
// earlier error message.
func (m *module) call(
	ctx context.Context, fun string, conn, kwargs *data.Map, args ...any,
) (any, error) {
	loader.ContextOf(ctx).Delete("mysql.error")
	all := &data.Map{}
	all.Update(conn)
	all.Update(kwargs)
	return m.env.Call(ctx, "mysql."+fun, args, all)
}

// serverError returns the server's error message for the last call, "" for none.
func serverError(ctx context.Context) string {
	text, _ := loader.ContextOf(ctx).Get("mysql.error")
	loader.ContextOf(ctx).Delete("mysql.error")
	if text == nil {
		return ""
	}
	return data.Str(text)
}

// because returns a comment with the server's error message for the last call.
func because(ctx context.Context, comment string) string {
	if text := serverError(ctx); text != "" {
		return comment + " (" + text + ")"
	}
	return comment
}

// seen returns a boolean answer. The error is that of the call, which is raised, or the server's
// error message for a negative answer.
func seen(ctx context.Context, yes any, err error) (bool, error) {
	if err != nil || data.Truth(yes) {
		return data.Truth(yes), change.Raise(err)
	}
	if text := serverError(ctx); text != "" {
		return false, change.Reason(text)
	}
	return false, nil
}

// refusal returns the error of a call, which is raised, or for a negative answer the text with the
// server's error message.
func refusal(ctx context.Context, text string, ok any, err error) error {
	if err == nil && !data.Truth(ok) {
		return change.Reason(because(ctx, text))
	}
	return change.Raise(err)
}

// desired is something that is to exist on the server, or not to exist.
type desired struct {
	name   string
	wanted bool // desired return value
	there  func(ctx context.Context) (bool, error)
	make   func(ctx context.Context) error
	texts  change.Texts
}

// ensure brings about the desired outcome. As in Salt, the result is not verified on the server.
func (w desired) ensure(ctx context.Context) (change.Result, error) {
	word := map[bool]string{true: "Present", false: "Absent"}[w.wanted]
	return change.Thing[bool]{
		Name: w.name,
		Look: w.there,
		Wants: func(there bool) *data.Map {
			return change.When(there != w.wanted, data.NewMap(w.name, word))
		},
		Apply:  func(ctx context.Context, _ bool) error { return w.make(ctx) },
		Texts:  w.texts,
		Silent: true,
		Trust:  true,
	}.Ensure(ctx)
}
