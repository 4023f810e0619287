// Package mysql is Salt's states mysql_database, mysql_grants, mysql_query and mysql_user for servers
// of MySQL and MariaDB (salt/states/mysql_*.py). The module mysql does the work; arguments that begin
// with connection_ are given to it.
package mysql

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
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
