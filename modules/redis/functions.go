package redis

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// getKey returns the value of a key, or None.
//
// CLI Example:
//
//	salt '*' redis.get_key foo
func (m *module) getKey(ctx context.Context, a keyArgs) (any, error) {
	return m.with(ctx, a.server, func(ctx context.Context, db *redis.Client) (any, error) {
		n, err := run(ctx, db, "STRLEN", a.Key)
		if err != nil {
			return nil, err
		}
		if size, _ := n.(int64); size > maxValue {
			return nil, loader.Execution("the value of %s has more than %d bytes", a.Key, maxValue)
		}
		return run(ctx, db, "GET", a.Key)
	})
}

type deleteArgs struct {
	Keys   []any     `args:"keys"`
	Kwargs *data.Map `kwargs:"connection_args"`
}

// delete deletes keys, and returns how many were there.
//
// CLI Example:
//
//	salt '*' redis.delete foo bar
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	return m.one(ctx, from(a.Kwargs), same, append([]any{"DEL"}, a.Keys...)...)
}

type fieldsArgs struct {
	Key    string
	Fields []any     `args:"fields"`
	Kwargs *data.Map `kwargs:"options"`
}

// hdel deletes fields of a hash, and returns how many were there.
//
// CLI Example:
//
//	salt '*' redis.hdel foo_hash bar_field1 bar_field2
func (m *module) hdel(ctx context.Context, a fieldsArgs) (any, error) {
	return m.one(ctx, from(a.Kwargs), same, append([]any{"HDEL", a.Key}, a.Fields...)...)
}

// hmget returns the values of fields of a hash, None for those that are not there.
//
// CLI Example:
//
//	salt '*' redis.hmget foo_hash bar_field1 bar_field2
func (m *module) hmget(ctx context.Context, a fieldsArgs) (any, error) {
	return m.one(ctx, from(a.Kwargs), same, append([]any{"HMGET", a.Key}, a.Fields...)...)
}

type hmsetArgs struct {
	Key    string
	Kwargs *data.Map `kwargs:"fieldsvals"`
}

// hmset sets fields of a hash, and returns True.
//
// CLI Example:
//
//	salt '*' redis.hmset foo_hash bar_field1=bar_value1 bar_field2=bar_value2
func (m *module) hmset(ctx context.Context, a hmsetArgs) (any, error) {
	command := []any{"HMSET", a.Key}
	for name, v := range a.Kwargs.All() {
		switch text := data.Str(name); {
		case text == "host", text == "port", text == "db", text == "password", strings.HasPrefix(text, "__"):
		default:
			command = append(command, text, v)
		}
	}
	if len(command) == 2 {
		return nil, loader.Exception("redis.exceptions.DataError", "'hmset' with 'mapping' of length 0")
	}
	return m.one(ctx, from(a.Kwargs), yes, command...)
}

type scanArgs struct {
	Key    string
	Cursor any `default:"0"`
	Match  any `default:"None"`
	Count  any `default:"None"`
	server
}

// hscan returns a part of a hash: the cursor of the next part, which is 0 at the end, and fields with their
// values.
//
// CLI Example:
//
//	salt '*' redis.hscan foo_hash match='field_prefix_*' count=1
func (m *module) hscan(ctx context.Context, a scanArgs) (any, error) {
	command := []any{"HSCAN", a.Key, a.Cursor}
	if a.Match != nil {
		command = append(command, "MATCH", a.Match)
	}
	if a.Count != nil {
		command = append(command, "COUNT", a.Count)
	}
	return m.one(ctx, a.server, func(v any) (any, error) {
		list, _ := v.([]any)
		if len(list) != 2 {
			return nil, loader.Execution("the answer of HSCAN has %d parts", len(list))
		}
		cursor, err := loader.Int(list[0])
		if err != nil {
			return nil, err
		}
		fields, err := pairs(list[1])
		return data.Tuple{cursor, fields}, err
	}, command...)
}

// ping returns whether the server answers.
//
// CLI Example:
//
//	salt '*' redis.ping
func (m *module) ping(ctx context.Context, a noArgs) (any, error) {
	v, err := m.one(ctx, a.server, yes, "PING")
	if gone(err) {
		return false, nil
	}
	return v, err
}

// gone reports whether an error is that of a connection or of a login.
func gone(err error) bool {
	e, ok := err.(*loader.Error)
	return ok && (e.Class == "redis.exceptions.ConnectionError" ||
		e.Class == "redis.exceptions.AuthenticationError")
}

// shutdown saves the databases and ends the server. It returns whether the server answered before and does
// not afterwards.
//
// CLI Example:
//
//	salt '*' redis.shutdown
func (m *module) shutdown(ctx context.Context, a noArgs) (any, error) {
	if there, err := m.ping(ctx, a); err != nil || there != true {
		return false, err
	}
	if _, err := m.one(ctx, a.server, yes, "SHUTDOWN"); err != nil && !gone(err) {
		return nil, err
	}
	there, err := m.ping(ctx, a)
	return there == false, err
}

type slaveofArgs struct {
	MasterHost any `default:"None"`
	MasterPort any `default:"None"`
	server
}

// slaveof makes the server a replica of another, and returns True. Without master_host it becomes a master.
//
// CLI Example:
//
//	salt '*' redis.slaveof redis-master.example.com 6379
//	salt '*' redis.slaveof
func (m *module) slaveof(ctx context.Context, a slaveofArgs) (any, error) {
	if !data.Truth(a.MasterHost) {
		return m.one(ctx, a.server, yes, "SLAVEOF", "NO", "ONE")
	}
	port := a.MasterPort
	if !data.Truth(port) {
		port = int64(6379)
	}
	return m.one(ctx, a.server, yes, "SLAVEOF", a.MasterHost, port)
}

type sentinelArgs struct {
	Master   string
	Host     any `default:"None"`
	Port     any `default:"None"`
	Password any `default:"None"`
}

// sentinelGetMasterIP returns the address of a master, which a Sentinel knows by its name, as master_host and
// master_port. The Sentinel defaults to the options redis_sentinel.host, redis_sentinel.port and
// redis_sentinel.password, and those to localhost:26379.
//
// CLI Example:
//
//	salt '*' redis.sentinel_get_master_ip mymaster
func (m *module) sentinelGetMasterIP(ctx context.Context, a sentinelArgs) (any, error) {
	s, err := m.complete(ctx, server{a.Host, a.Port, nil, a.Password}, "redis_sentinel", 26379)
	if err != nil {
		return nil, err
	}
	s.DB = int64(0) // a Sentinel has no other
	return s.with(ctx, func(ctx context.Context, db *redis.Client) (any, error) {
		v, err := run(ctx, db, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", a.Master)
		if err != nil && err != redis.Nil {
			return nil, err
		}
		list, _ := v.([]any)
		if len(list) != 2 {
			return nil, loader.Execution("the Sentinel knows no master %s", a.Master)
		}
		port, err := loader.Int(list[1])
		return data.NewMap("master_host", list[0], "master_port", port), err
	})
}

type masterArgs struct {
	Host     any `default:"None"`
	Port     any `default:"None"`
	Password any `default:"None"`
}

// getMasterIP returns the address of the server's master as master_host and master_port. Both are empty for
// a master.
//
// CLI Example:
//
//	salt '*' redis.get_master_ip
func (m *module) getMasterIP(ctx context.Context, a masterArgs) (any, error) {
	v, err := m.info(ctx, noArgs{server{a.Host, a.Port, nil, a.Password}})
	if err != nil {
		return nil, err
	}
	all, address := v.(*data.Map), &data.Map{}
	for _, name := range []string{"master_host", "master_port"} {
		address.Set(name, "")
		if part, ok := all.Get(name); ok {
			address.Set(name, part)
		}
	}
	return address, nil
}
