// Package mysql is Salt's states mysql_database, mysql_grants, mysql_query and mysql_user for servers
// of MySQL and MariaDB (salt/states/mysql_*.py). The module mysql does the work; arguments that begin
// with connection_ are given to it.
package mysql

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A module does the work of all states of the package.
type module struct{ env *loader.Env }

// state returns a state that is there where the module mysql is.
func state(name string, funcs func(m *module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("mysql.query") {
			return nil, errors.New("mysql module could not be loaded")
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// call calls a function of the module mysql with how to reach the server. What the server said at
// another time is forgotten.
func (m *module) call(
	ctx context.Context, fun string, conn, kwargs *data.Map, args ...any,
) (any, error) {
	loader.ContextOf(ctx).Delete("mysql.error")
	all := &data.Map{}
	all.Update(conn)
	all.Update(kwargs)
	return m.env.Call(ctx, "mysql."+fun, args, all)
}

// said returns what the server said of the last call, "" for nothing.
func said(ctx context.Context) string {
	text, _ := loader.ContextOf(ctx).Get("mysql.error")
	loader.ContextOf(ctx).Delete("mysql.error")
	if text == nil {
		return ""
	}
	return data.Str(text)
}

// because returns a comment with what the server said of the last call behind it.
func because(ctx context.Context, comment string) string {
	if text := said(ctx); text != "" {
		return comment + " (" + text + ")"
	}
	return comment
}

// seen passes an answer on. The error is that of the call, which is raised, or, for an answer that is
// no, what the server said.
func seen(ctx context.Context, yes any, err error) (bool, error) {
	if err != nil || data.Truth(yes) {
		return data.Truth(yes), change.Raise(err)
	}
	if text := said(ctx); text != "" {
		return false, change.Reason(text)
	}
	return false, nil
}

// refusal returns the error of a call, which is raised, or the text with what the server said for an
// answer that is no.
func refusal(ctx context.Context, text string, ok any, err error) error {
	if err == nil && !data.Truth(ok) {
		return change.Reason(because(ctx, text))
	}
	return change.Raise(err)
}

// A wish is something that the server has, or does not have, as a state wants it.
type wish struct {
	name   string
	wanted bool // what there is to return
	there  func(ctx context.Context) (bool, error)
	make   func(ctx context.Context) error
	texts  change.Texts
}

// ensure brings the wish about. That the server has accepted it is believed, as in Salt.
func (w wish) ensure(ctx context.Context) (change.Result, error) {
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
