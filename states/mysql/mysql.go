package mysqldatabase

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the state mysql_database. There is one where there is the module mysql.
func Plugin() loader.Plugin { return loader.Plugin{Name: "mysql_database", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("mysql.db_exists") {
		return nil, errors.New("mysql module could not be loaded")
	}
	return &loader.Module{Funcs: m.functions()}, nil
}

// call calls a function of the module mysql with how to reach the server. What the server said at another time is forgotten.
func (m *module) call(ctx context.Context, fun string, conn *data.Map, kwargs *data.Map, args ...any) (any, error) {
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
