// Package memcached is Salt's state memcached: values in memcached servers (salt/states/memcached.py). It
// uses the module memcached.
package memcached

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state memcached.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "memcached", New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("memcached.status") {
			return nil, errors.New("memcached module could not be loaded")
		}
		m := &module{env}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("absent", m.absent),
			loader.F("managed", m.managed),
		}}, nil
	}}
}

type module struct{ env *loader.Env }

// call calls a function of the module. Its errors are the state's comment.
func (m *module) call(ctx context.Context, fun string, args ...any) (any, error) {
	v, err := m.env.Call(ctx, "memcached."+fun, args, nil)
	return v, change.Except(err, loader.KindExecution, loader.KindInvocation)
}

type managedArgs struct {
	Name           string
	Value          any `default:"None"`
	Host           any `default:"'127.0.0.1'"`
	Port           any `default:"11211"`
	Time           any `default:"0"`
	MinCompressLen any `default:"0"`
}

// managed keeps a value under a key.
//
// value
//
//	A text or an integer.
//
// host, port
//
//	The server. Default: 127.0.0.1 and 11211.
//
// time, min_compress_len
//
//	As in memcached.set.
//
//	foo:
//	  memcached.managed:
//	    - value: bar
func (m *module) managed(ctx context.Context, a managedArgs) (change.Result, error) {
	quoted := "'" + a.Name + "'"
	return change.Thing[any]{
		Name: a.Name,
		Look: func(ctx context.Context) (any, error) { return m.call(ctx, "get", a.Name, a.Host, a.Port) },
		Wants: func(now any) *data.Map {
			if now == nil {
				return change.When(a.Value != nil, data.NewMap("key added", a.Name, "value", a.Value))
			}
			return change.When(!data.Equal(now, a.Value), change.OldNew(now, a.Value))
		},
		Apply: func(ctx context.Context, _ any) error {
			done, err := m.call(ctx, "set", a.Name, a.Value, a.Host, a.Port, a.Time, a.MinCompressLen)
			if err == nil && !data.Truth(done) {
				err = change.Reason("Failed to set key " + quoted)
			}
			return err
		},
		Texts: change.Texts{Same: "Key " + quoted + " does not need to be updated",
			Done: "Successfully set key " + quoted},
		Say: func(o change.Outcome[any]) any {
			switch {
			case o.Stage == change.StageWould && o.Before == nil:
				return "Key " + quoted + " would be added"
			case o.Stage == change.StageWould:
				return "Value of key " + quoted + " would be changed"
			}
			return nil
		},
		Silent: true,
		Trust:  true,
	}.Ensure(ctx)
}

type absentArgs struct {
	Name  string
	Value any `default:"None"`
	Host  any `default:"'127.0.0.1'"`
	Port  any `default:"11211"`
	Time  any `default:"0"`
}

// absent keeps a key without a value.
//
// value
//
//	Delete the key only if it has this value.
//
//	foo:
//	  memcached.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	key := "Key '" + a.Name + "' "
	other := func(now any) bool { return a.Value != nil && now != nil && !data.Equal(now, a.Value) }
	return change.Thing[any]{
		Name: a.Name,
		Look: func(ctx context.Context) (any, error) { return m.call(ctx, "get", a.Name, a.Host, a.Port) },
		Wants: func(now any) *data.Map {
			return change.When(now != nil && !other(now), data.NewMap("key deleted", a.Name, "value", now))
		},
		Apply: func(ctx context.Context, _ any) error {
			done, err := m.call(ctx, "delete", a.Name, a.Host, a.Port, a.Time)
			if err == nil && !data.Truth(done) {
				err = change.Reason("Failed to delete key '" + a.Name + "'")
			}
			return err
		},
		Texts: change.Texts{Same: key + "does not exist", Would: key + "would be deleted",
			Done: "Successfully deleted key '" + a.Name + "'"},
		Say: func(o change.Outcome[any]) any {
			if o.Stage == change.StageSame && other(o.Before) {
				return "Value of key '" + a.Name + "' ('" + data.Str(o.Before) + "') is not '" + data.Str(a.Value) + "'"
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}
