// Package redismod is Salt's external pillar redis: the key of a Redis database with the minion's
// name (salt/pillar/redismod.py).
//
//	redis.host: localhost   # redis.port: 6379, redis.db: 0, redis.password
//	ext_pillar:
//	  - redis: {function: key_value, pillar_key: redis_pillar}
//	  - redis: {function: key_json}
//
// key_value supports keys of any type except streams: a text, a dictionary, a list. key_json parses
// a text as JSON.
package redismod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
)

// Limits of one key and its timeout.
const (
	maxElements = 100_000
	maxBytes    = 64 << 20
	limit       = 10 * time.Second
	places      = 8
)

// A Source is the external pillar redis.
type Source struct{ places chan struct{} }

// New returns the source.
func New() *Source { return &Source{make(chan struct{}, places)} }

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (*Source) Name() string { return "redis" }

// Check implements pillar.Checker.
func (*Source) Check(argument any, opts *data.Map) error {
	args, err := pillar.Bind(argument, 1, "function", "pillar_key")
	if err != nil {
		return err
	}
	if f := args.Text("function"); f != "key_value" && f != "key_json" {
		return fmt.Errorf("function: expected key_value or key_json, not %s",
			data.Repr(args.Value("function")))
	}
	_, err = target(opts)
	return err
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	args, err := pillar.Bind(q.Argument, 1, "function", "pillar_key")
	if err != nil {
		return nil, err
	}
	o, err := target(q.Opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, errors.New("the database is busy")
	}
	// it bypasses the log, and its messages are also returned as errors
	redis.SetLogger(&logging.VoidLogger{})
	db := redis.NewClient(o)
	defer db.Close()
	k := key{db, q.ID}
	under := args.Value("pillar_key")
	switch args.Text("function") {
	case "key_value":
		if !args.Has("pillar_key") {
			under = "redis_pillar"
		}
		v, err := k.value(ctx)
		return result(q, under, v, err)
	case "key_json":
		v, err := k.document(ctx)
		if m, ok := v.(*data.Map); ok && err == nil && !data.Truth(under) {
			return m, nil
		}
		if !data.Truth(under) {
			under = "redis_pillar"
		}
		return result(q, under, v, err)
	}
	return nil, nil
}

// result stores a value under its key; it returns nothing if the database has none.
func result(q pillar.Query, under, v any, err error) (*data.Map, error) {
	switch {
	case errors.Is(err, errNothing):
		return nil, nil
	case errors.Is(err, errKey):
		return nil, err
	case err != nil:
		q.Log.Errorf("ext_pillar redis for %s: %s", q.ID, err)
		return nil, errors.New("no answer of the database; please see the master's log")
	case !data.Hashable(under):
		return nil, fmt.Errorf("unhashable type: '%s'", loader.TypeName(under))
	}
	return data.NewMap(under, v), nil
}

// target parses the options redis.host, redis.port, redis.db and redis.password.
func target(opts *data.Map) (*redis.Options, error) {
	host, port, number := "localhost", int64(6379), int64(0)
	var err error
	if v := opts.Value("redis.host"); data.Truth(v) {
		host = data.Str(v)
	}
	if v := opts.Value("redis.port"); data.Truth(v) {
		if port, err = loader.Int(v); err != nil || port < 1 || port > 65535 {
			return nil, errors.New("redis.port: expected the number of a port")
		}
	}
	if v := opts.Value("redis.db"); data.Truth(v) {
		if number, err = loader.Int(v); err != nil || number < 0 || number > 1<<20 {
			return nil, errors.New("redis.db: expected the number of a database")
		}
	}
	password := ""
	if v := opts.Value("redis.password"); data.Truth(v) {
		password = data.Str(v)
	}
	return &redis.Options{Network: "tcp", Addr: net.JoinHostPort(host, strconv.FormatInt(port, 10)),
		Password: password, DB: int(number), Protocol: 2, DialTimeout: limit, DialerRetries: 1,
		ReadTimeout: limit, WriteTimeout: limit, MaxRetries: -1, ContextTimeoutEnabled: true,
		PoolSize: 1}, nil
}

var (
	errNothing = errors.New("there is nothing")
	errKey     = errors.New("the minion's key")
)

// A key is the key of one minion.
type key struct {
	db   *redis.Client
	name string
}

func (k key) value(ctx context.Context) (any, error) {
	kind, err := k.db.Type(ctx, k.name).Result()
	if err != nil {
		return nil, err
	}
	var reply []string
	switch kind {
	case "string":
		return k.text(ctx)
	case "hash":
		return k.hash(ctx)
	case "list":
		if err = k.check(k.db.LLen(ctx, k.name)); err == nil {
			reply, err = k.db.LRange(ctx, k.name, 0, -1).Result()
		}
	case "set":
		if err = k.check(k.db.SCard(ctx, k.name)); err == nil {
			reply, err = k.db.SMembers(ctx, k.name).Result()
		}
	case "zset":
		if err = k.check(k.db.ZCard(ctx, k.name)); err == nil {
			reply, err = k.db.ZRange(ctx, k.name, 0, -1).Result()
		}
	default:
		return nil, errNothing
	}
	if err != nil {
		return nil, err
	}
	return list(reply)
}

// check rejects keys with too many elements.
func (k key) check(count *redis.IntCmd) error {
	n, err := count.Result()
	if err == nil && n > maxElements {
		return fmt.Errorf("%w has more than %d elements", errKey, maxElements)
	}
	return err
}

func list(reply []string) (any, error) {
	size := 0
	out := make([]any, len(reply))
	for i, s := range reply {
		if size += len(s); size > maxBytes {
			return nil, fmt.Errorf("%w has more than %d bytes", errKey, maxBytes)
		}
		out[i] = value(s)
	}
	return out, nil
}

func (k key) text(ctx context.Context) (any, error) {
	n, err := k.db.StrLen(ctx, k.name).Result()
	if err != nil {
		return nil, err
	}
	if n > maxBytes {
		return nil, fmt.Errorf("%w has more than %d bytes", errKey, maxBytes)
	}
	s, err := k.db.Get(ctx, k.name).Result()
	if errors.Is(err, redis.Nil) {
		return nil, errNothing
	}
	return value(s), err
}

// hash returns a dictionary in the order of the reply.
func (k key) hash(ctx context.Context) (any, error) {
	if err := k.check(k.db.HLen(ctx, k.name)); err != nil {
		return nil, err
	}
	pairs, err := k.db.Do(ctx, "HGETALL", k.name).StringSlice()
	if err != nil {
		return nil, err
	}
	all, err := list(pairs)
	if err != nil {
		return nil, err
	}
	return data.NewMap(all.([]any)[:len(pairs)/2*2]...), nil
}

func (k key) document(ctx context.Context) (any, error) {
	v, err := k.text(ctx)
	switch {
	case err != nil:
		return nil, err
	case !data.Truth(v):
		return nil, errNothing
	}
	if v, err = pyjson.Load(data.Str(v)); err != nil {
		return nil, fmt.Errorf("%w is not JSON", errKey)
	}
	return v, nil
}

func value(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return []byte(s)
}
