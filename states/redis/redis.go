// Package redis is Salt's state redis: keys of Redis, and its replication (salt/states/redismod.py). It
// uses the module redis.
//
// Differences from Salt: test mode writes nothing. A value that is a number is compared as the text that
// Redis keeps. redis.string reports a new time of expiry only if the key had none, a later one or, with
// expireat, another one; as in Salt each run begins the time of expire anew.
package redis

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state redis.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "redis", File: "redismod", New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("redis.set_key") {
			return nil, errors.New("redis module could not be loaded")
		}
		m := &module{env}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("absent", m.absent),
			loader.F("slaveof", m.slaveof),
			loader.F("string", m.text),
		}}, nil
	}}
}

type module struct{ env *loader.Env }

type stringArgs struct {
	Name     string
	Value    any
	Expire   any       `default:"None"`
	Expireat any       `default:"None"`
	Kwargs   *data.Map `kwargs:"connection_args"`
}

// A key is a value and its time of expiry.
type key struct {
	value any
	ttl   int64 // seconds; -1 without expiry, -2 without key
	now   int64 // the server's Unix time, if it counts
}

// text keeps the value of a key.
//
// value
//
//	A text or a number.
//
// expire, expireat
//
//	The key expires after these seconds, which begin anew with each run, or at this Unix time.
//
// host, port, db, password
//
//	The server. Default: the options redis.host, redis.port, redis.db and redis.password.
//
//	key_in_redis:
//	  redis.string:
//	    - value: string data
func (m *module) text(ctx context.Context, a stringArgs) (change.Result, error) {
	changed := func(now key) *data.Map {
		wanted := &data.Map{}
		if now.value == nil || data.Str(now.value) != data.Str(a.Value) {
			wanted.Set(a.Name, "Value updated")
		}
		a.expiry(now, wanted)
		return wanted
	}
	thing := change.Thing[key]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (key, error) { return m.look(ctx, a) },
		Wants: changed,
		Apply: func(ctx context.Context, now key) error {
			if changed(now).Has(a.Name) {
				if err := change.Do(ctx, m.env, "redis.set_key", []any{a.Name, a.Value}, a.Kwargs); err != nil {
					return err
				}
			}
			return m.limit(ctx, a)
		},
		Texts: change.Texts{Same: "Key already set to defined value"},
		Say: func(o change.Outcome[key]) any {
			switch {
			case o.Stage != change.StageWould && o.Stage != change.StageDone:
				return nil
			case !o.Changes.Has(a.Name) && o.Test:
				return "Key would get a time of expiry"
			case !o.Changes.Has(a.Name):
				return "Key already set to defined value"
			case o.Test:
				return "Key would be updated to new value"
			}
			return "Key updated to new value"
		},
	}
	r, err := thing.Ensure(ctx)
	if err == nil && !r.Failed() && r.Changes.Len() == 0 && !change.Test(ctx) {
		err = m.limit(ctx, a)
	}
	return r, err
}

func (m *module) look(ctx context.Context, a stringArgs) (key, error) {
	var k key
	var err error
	if k.value, err = change.Ask[any](ctx, m.env, "redis.get_key", []any{a.Name}, a.Kwargs); err != nil {
		return k, err
	}
	if !data.Truth(a.Expire) && !data.Truth(a.Expireat) {
		return k, nil
	}
	if k.ttl, err = change.Ask[int64](ctx, m.env, "redis.ttl", []any{a.Name}, a.Kwargs); err != nil {
		return k, err
	}
	k.now, err = change.Ask[int64](ctx, m.env, "redis.time", nil, a.Kwargs)
	return k, err
}

// expiry notes a time of expiry that a key lacks.
func (a stringArgs) expiry(now key, wanted *data.Map) {
	switch {
	case data.Truth(a.Expireat):
		at, err := loader.Int(a.Expireat)
		if off := now.now + now.ttl - at; err != nil || now.ttl < 0 || off > 1 || off < -1 {
			wanted.Set("expireat", "Key expires at "+data.Str(a.Expireat))
		}
	case data.Truth(a.Expire):
		seconds, err := loader.Int(a.Expire)
		if err != nil || now.ttl < 0 || now.ttl > seconds {
			wanted.Set("expire", "TTL set to "+data.Str(a.Expire)+" seconds")
		}
	}
}

// limit sets the time of expiry.
func (m *module) limit(ctx context.Context, a stringArgs) error {
	switch {
	case data.Truth(a.Expireat):
		return change.Do(ctx, m.env, "redis.expireat", []any{a.Name, a.Expireat}, a.Kwargs)
	case data.Truth(a.Expire):
		return change.Do(ctx, m.env, "redis.expire", []any{a.Name, a.Expire}, a.Kwargs)
	}
	return nil
}

type absentArgs struct {
	Name   string
	Keys   any       `default:"None"`
	Kwargs *data.Map `kwargs:"connection_args"`
}

// absent keeps a key, or a list of keys in place of it, deleted.
//
//	key_in_redis:
//	  redis.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	keys, one := []any{a.Name}, true
	if data.Truth(a.Keys) {
		var ok bool
		if keys, ok = a.Keys.([]any); !ok {
			return change.Refuse(a.Name, "`keys` not formed as a list type")
		}
		one = false
	}
	texts := change.Texts{Same: "Key(s) specified already absent", Would: "Keys would be deleted",
		Done: "Keys deleted"}
	if one {
		texts.Would, texts.Done = "Key would be deleted", "Key deleted"
	}
	return change.Thing[[]any]{
		Name: a.Name,
		Look: func(ctx context.Context) ([]any, error) {
			var there []any
			for _, k := range keys {
				is, err := change.Ask[bool](ctx, m.env, "redis.exists", []any{k}, a.Kwargs)
				if err != nil {
					return nil, err
				}
				if is {
					there = append(there, k)
				}
			}
			return there, nil
		},
		Wants: func(there []any) *data.Map { return change.When(len(there) > 0, data.NewMap("deleted", there)) },
		Apply: func(ctx context.Context, there []any) error {
			return change.Do(ctx, m.env, "redis.delete", there, a.Kwargs)
		},
		Texts: texts,
	}.Ensure(ctx)
}

type slaveofArgs struct {
	Name             string
	SentinelHost     any       `default:"None"`
	SentinelPort     any       `default:"None"`
	SentinelPassword any       `default:"None"`
	Kwargs           *data.Map `kwargs:"connection_args"`
}

// slaveof keeps the server a replica of the master that a Sentinel names. If the master is on the minion
// itself, there is nothing to do.
//
// sentinel_host, sentinel_port, sentinel_password
//
//	The Sentinel. Default: the options redis_sentinel.host, redis_sentinel.port and redis_sentinel.password.
//
// host, port, db, password
//
//	The server, as in redis.string.
//
//	different_master:
//	  redis.slaveof:
//	    - sentinel_host: sentinel.example.com
func (m *module) slaveof(ctx context.Context, a slaveofArgs) (change.Result, error) {
	master, err := loader.CallAs[*data.Map](ctx, m.env, "redis.sentinel_get_master_ip",
		[]any{a.Name, a.SentinelHost, a.SentinelPort, a.SentinelPassword}, nil)
	if err != nil {
		return change.Result{}, err
	}
	own, err := loader.CallAs[[]string](ctx, m.env, "network.ip_addrs", nil, nil)
	switch {
	case err != nil:
		return change.Result{}, err
	case slices.Contains(own, master.Text("master_host")):
		return change.Leave(a.Name, "Minion is the master: "+a.Name)
	}
	server := &data.Map{}
	for k, v := range a.Kwargs.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			server.Set(k, v)
		}
	}
	asked := server.Clone()
	asked.Delete("db") // get_master_ip does not take it
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return change.Ask[*data.Map](ctx, m.env, "redis.get_master_ip", nil, asked)
		},
		Wants: func(now *data.Map) *data.Map {
			return change.When(!data.Equal(now, master), change.OldNew(now, master))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			kwargs := server.Clone()
			kwargs.Update(master)
			return change.Do(ctx, m.env, "redis.slaveof", nil, kwargs)
		},
		Texts: change.Texts{Same: "Minion already slave of master: " + a.Name,
			Would:  "Minion will be made a slave of " + a.Name + ": " + master.Text("master_host"),
			Done:   "Minion successfully connected to master: " + a.Name,
			Failed: "Failed to setup slave"},
		Silent: true,
	}.Ensure(ctx)
}
