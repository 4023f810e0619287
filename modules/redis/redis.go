// Package redis is Salt's module redis: the keys and the server of Redis (salt/modules/redismod.py).
//
// redis.go has the connection and the conversions, commands.go the functions that are one command,
// functions.go the others.
//
// Differences from Salt: get_master_ip uses the password, which Salt's takes for the number of the
// database. A master that the Sentinel does not know is an error. get_key refuses values of more than 16
// MiB.
package redis

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Limits of a request.
const (
	patience = 30 * time.Second
	maxValue = 16 << 20 // bytes
)

// Plugin returns the module redis.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "redis", File: "redismod", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("bgrewriteaof", m.bgrewriteaof),
		loader.F("bgsave", m.bgsave),
		loader.F("config_get", m.configGet).SecretResult("requirepass", "masterauth"),
		loader.F("config_set", m.configSet).Secret("value"),
		loader.F("dbsize", m.dbsize),
		loader.F("delete", m.delete),
		loader.F("exists", m.exists),
		loader.F("expire", m.expire),
		loader.F("expireat", m.expireat),
		loader.F("flushall", m.flushall),
		loader.F("flushdb", m.flushdb),
		loader.F("get_key", m.getKey),
		loader.F("get_master_ip", m.getMasterIP),
		loader.F("hdel", m.hdel),
		loader.F("hexists", m.hexists),
		loader.F("hget", m.hget),
		loader.F("hgetall", m.hgetall),
		loader.F("hincrby", m.hincrby),
		loader.F("hincrbyfloat", m.hincrbyfloat),
		loader.F("hlen", m.hlen),
		loader.F("hmget", m.hmget),
		loader.F("hmset", m.hmset),
		loader.F("hscan", m.hscan),
		loader.F("hset", m.hset),
		loader.F("hsetnx", m.hsetnx),
		loader.F("hvals", m.hvals),
		loader.F("info", m.info),
		loader.F("key_type", m.keyType),
		loader.F("keys", m.keys),
		loader.F("lastsave", m.lastsave),
		loader.F("llen", m.llen),
		loader.F("lrange", m.lrange),
		loader.F("ping", m.ping),
		loader.F("save", m.save),
		loader.F("sentinel_get_master_ip", m.sentinelGetMasterIP),
		loader.F("set_key", m.setKey),
		loader.F("shutdown", m.shutdown),
		loader.F("slaveof", m.slaveof),
		loader.F("smembers", m.smembers),
		loader.F("time", m.time),
		loader.F("ttl", m.ttl),
		loader.F("zcard", m.zcard),
		loader.F("zrange", m.zrange),
	}}, nil
}

// A server is the database of a server, and how to log in there.
type server struct {
	Host     any `default:"None"`
	Port     any `default:"None"`
	DB       any `name:"db" default:"None"`
	Password any `default:"None"`
}

// from takes the server out of keyword arguments.
func from(kwargs *data.Map) server {
	return server{kwargs.Value("host"), kwargs.Value("port"), kwargs.Value("db"), kwargs.Value("password")}
}

// complete fills in what is not given: from the options PREFIX.NAME, or the defaults.
func (m *module) complete(ctx context.Context, s server, prefix string, port int64) (server, error) {
	for _, part := range []struct {
		name      string
		value     *any
		otherwise any
	}{{"host", &s.Host, "localhost"}, {"port", &s.Port, port}, {"db", &s.DB, int64(0)}, {"password",
		&s.Password, ""}} {
		if data.Truth(*part.value) {
			continue
		}
		v, err := calls.Option[any](ctx, m.env, prefix+"."+part.name)
		if err != nil {
			return s, err
		}
		if *part.value = v; !data.Truth(v) {
			*part.value = part.otherwise
		}
	}
	return s, nil
}

// connect returns a client of the server.
func (s server) connect() (*redis.Client, error) {
	port, err := loader.Int(s.Port)
	if err != nil || port < 1 || port > 65535 {
		return nil, loader.Invocation("%s is not a port", data.Repr(s.Port))
	}
	db, err := loader.Int(s.DB)
	if err != nil || db < 0 || db > 1<<20 {
		return nil, loader.Invocation("%s is not the number of a database", data.Repr(s.DB))
	}
	redis.SetLogger(&logging.VoidLogger{}) // the library would write to standard error
	return redis.NewClient(&redis.Options{Protocol: 2, DialTimeout: 10 * time.Second, DialerRetries: 1,
		ReadTimeout: patience, WriteTimeout: patience, MaxRetries: -1, ContextTimeoutEnabled: true, PoolSize: 1,
		Addr: net.JoinHostPort(data.Str(s.Host), strconv.FormatInt(port, 10)), DB: int(db),
		Password: data.Str(s.Password), DisableIdentity: true}), nil
}

// with calls do with a client of the server.
func (m *module) with(
	ctx context.Context, s server, do func(context.Context, *redis.Client) (any, error),
) (any, error) {
	s, err := m.complete(ctx, s, "redis", 6379)
	if err != nil {
		return nil, err
	}
	return s.with(ctx, do)
}

func (s server) with(
	ctx context.Context, do func(context.Context, *redis.Client) (any, error),
) (any, error) {
	db, err := s.connect()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := do(ctx, db)
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return v, raised(err)
}

// raised returns an error as the library of Python raises it.
func raised(err error) error {
	if _, own := errors.AsType[*loader.Error](err); own || err == nil {
		return err
	}
	refused, ok := errors.AsType[redis.Error](err)
	if !ok {
		return loader.Exception("redis.exceptions.ConnectionError", "connect to Redis: %s", err)
	}
	text := refused.Error()
	code, rest, _ := strings.Cut(text, " ")
	class := "ResponseError"
	switch code {
	case "ERR":
		text = rest
	case "NOAUTH":
		class, text = "AuthenticationError", rest
	case "READONLY":
		class, text = "ReadOnlyError", rest
	case "LOADING":
		class, text = "BusyLoadingError", rest
	}
	return loader.Exception("redis.exceptions."+class, "%s", text)
}

// words converts the arguments of a command to what Redis takes.
func words(args []any) ([]any, error) {
	all := make([]any, len(args))
	for i, v := range args {
		switch v := v.(type) {
		case string, []byte, int64:
			all[i] = v
		case float64:
			all[i] = data.Repr(v)
		default:
			return nil, loader.Exception("redis.exceptions.DataError",
				"Invalid input of type: '%s'. Convert to a bytes, string, int or float first.", loader.TypeName(v))
		}
	}
	return all, nil
}

// run sends a command and returns the answer.
func run(ctx context.Context, db *redis.Client, args ...any) (any, error) {
	all, err := words(args)
	if err != nil {
		return nil, err
	}
	return db.Do(ctx, all...).Result()
}

// one sends a command to a server, and returns the converted answer.
func (m *module) one(ctx context.Context, s server, convert func(any) (any, error), args ...any) (any,
	error) {
	return m.with(ctx, s, func(ctx context.Context, db *redis.Client) (any, error) {
		v, err := run(ctx, db, args...)
		if err != nil {
			return nil, err
		}
		return convert(v)
	})
}

func same(v any) (any, error) { return v, nil }

// yes is the conversion of the status of a command that did its work.
func yes(any) (any, error) { return true, nil }

func truth(v any) (any, error) { return data.Truth(v), nil }

func float(v any) (any, error) {
	f, err := loader.Float(v)
	return f, err
}

// first returns the first element as a number.
func first(v any) (any, error) {
	list, _ := v.([]any)
	if len(list) == 0 {
		return nil, errors.New("the answer is empty")
	}
	n, err := loader.Int(list[0])
	return n, err
}

// pairs returns a dictionary of a list with keys and values in turn.
func pairs(v any) (any, error) {
	list, _ := v.([]any)
	all := &data.Map{}
	for i := 0; i+1 < len(list); i += 2 {
		all.Set(data.Str(list[i]), list[i+1])
	}
	return all, nil
}

// information returns what the text of INFO says, as the library of Python reads it (parse_info of
// redis/client.py).
func information(v any) (any, error) {
	all := &data.Map{}
	var modules, raw []any
	for line := range strings.SplitSeq(data.Str(v), "\n") {
		line = strings.TrimRight(line, "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if key == "cmdstat_host" {
			i := strings.LastIndex(line, ":")
			key, value = line[:i], line[i+1:]
		}
		switch {
		case !ok:
			raw = append(raw, line)
		case key == "module":
			modules = append(modules, fact(value))
		default:
			all.Set(key, fact(value))
		}
	}
	if modules != nil {
		all.Set("modules", modules)
	}
	if raw != nil {
		all.Set("__raw__", raw)
	}
	return all, nil
}

// fact returns a value of INFO: a number, a dictionary of a list like a=1,b=2, or a text.
func fact(text string) any {
	if !strings.Contains(text, ",") || !strings.Contains(text, "=") {
		if strings.Contains(text, ".") {
			if f, err := loader.Float(text); err == nil {
				return f
			}
		} else if n, err := loader.Int(text); err == nil {
			return n
		}
		return text
	}
	all := &data.Map{}
	for item := range strings.SplitSeq(text, ",") {
		i := strings.LastIndex(item, "=")
		if i < 0 {
			return text
		}
		all.Set(item[:i], fact(item[i+1:]))
	}
	return all
}
