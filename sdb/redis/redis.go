// Package redis is Salt's sdb driver redis: values in a Redis database (salt/sdb/redis_sdb.py).
//
//	sdb_redis:
//	  driver: redis
//	  host: 127.0.0.1        # default localhost
//	  port: 6379
//	  db: 1
//	  username: ann
//	  password: pass
//	  ssl: True              # ssl_ca_certs: FILE, ssl_cert_reqs: none
//	  unix_socket_path: /run/redis.sock
//	  socket_timeout: 5      # seconds
//
// Unlike in Salt a value that is UTF-8 is a text, and not bytes, and the other options of Python's
// client are errors.
package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Limits of a request.
const (
	patience = 10 * time.Second
	maxValue = 16 << 20 // bytes
)

// Plugin returns the driver redis.
func Plugin() loader.Plugin { return loader.Plugin{Name: "redis", New: newModule} }

func newModule(*loader.Env) (*loader.Module, error) {
	return &loader.Module{Funcs: []loader.Func{
		loader.F("delete", remove),
		loader.F("get", get).SecretResult(loader.SecretAll),
		loader.F("set", set).Def("set_").Secret("value"),
	}}, nil
}

type getArgs struct {
	Key     string
	Profile *data.Map `default:"None"`
}

// get returns a value.
func get(ctx context.Context, a getArgs) (any, error) {
	return with(ctx, a.Profile, func(ctx context.Context, db *redis.Client) (any, error) {
		n, err := db.StrLen(ctx, a.Key).Result()
		if err != nil {
			return nil, err
		}
		if n > maxValue {
			return nil, errors.New("the value is too long")
		}
		text, err := db.Get(ctx, a.Key).Result()
		switch {
		case errors.Is(err, redis.Nil):
			return nil, nil
		case err != nil:
			return nil, err
		case utf8.ValidString(text):
			return text, nil
		}
		return []byte(text), nil
	})
}

type setArgs struct {
	Key     string
	Value   any
	Profile *data.Map `default:"None"`
}

// set sets a value and returns True.
func set(ctx context.Context, a setArgs) (any, error) {
	switch v := a.Value.(type) {
	case string, []byte, int64, float64:
	default:
		return nil, loader.Exception("redis.exceptions.DataError",
			"Invalid input of type: '%s'. Convert to a bytes, string, int or float first.", loader.TypeName(v))
	}
	return with(ctx, a.Profile, func(ctx context.Context, db *redis.Client) (any, error) {
		v := a.Value
		if f, ok := v.(float64); ok {
			v = data.Repr(f)
		}
		return true, db.Set(ctx, a.Key, v, 0).Err()
	})
}

// remove deletes a value and returns how many there were: 1 or 0.
func remove(ctx context.Context, a getArgs) (any, error) {
	return with(ctx, a.Profile, func(ctx context.Context, db *redis.Client) (any, error) {
		return db.Del(ctx, a.Key).Result()
	})
}

// with calls do with a client of the database of a profile. The result is False without a profile.
func with(
	ctx context.Context, profile *data.Map, do func(context.Context, *redis.Client) (any, error),
) (any, error) {
	if profile.Len() == 0 {
		return false, nil
	}
	o, err := options(profile)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	redis.SetLogger(&logging.VoidLogger{}) // the library would write to standard error
	db := redis.NewClient(o)
	defer db.Close()
	v, err := do(ctx, db)
	if err != nil {
		return nil, loader.Execution("sdb redis: %w", err)
	}
	return v, nil
}

// options returns the connection that a profile describes.
func options(profile *data.Map) (*redis.Options, error) {
	o := &redis.Options{Network: "tcp", Protocol: 2, DialTimeout: patience, DialerRetries: 1,
		ReadTimeout: patience, WriteTimeout: patience, MaxRetries: -1, ContextTimeoutEnabled: true,
		PoolSize: 1, Username: profile.Text("username"), Password: password(profile)}
	host, port, socket := "localhost", int64(6379), ""
	secure, trust := false, &tls.Config{MinVersion: tls.VersionTLS12}
	for k, v := range profile.All() {
		var err error
		var n int64
		switch k {
		case "driver", "username", "password":
		case "host":
			host = data.Str(v)
		case "port":
			port, err = loader.Int(v)
		case "db":
			n, err = loader.Int(v)
			o.DB = int(n)
		case "unix_socket_path":
			socket = data.Str(v)
		case "socket_timeout", "socket_connect_timeout":
			n, err = loader.Int(v)
			o.DialTimeout = time.Duration(n) * time.Second
			o.ReadTimeout, o.WriteTimeout = o.DialTimeout, o.DialTimeout
		case "ssl":
			secure = data.Truth(v)
		case "ssl_ca_certs":
			trust.RootCAs, err = certificates(data.Str(v))
		case "ssl_cert_reqs":
			trust.InsecureSkipVerify = v == nil || data.Str(v) == "none"
		default:
			return nil, loader.Execution("sdb redis: there is no option %s", data.Str(k))
		}
		if err != nil {
			return nil, loader.Execution("sdb redis: %s: %w", data.Str(k), err)
		}
	}
	if o.Addr = net.JoinHostPort(host, strconv.FormatInt(port, 10)); socket != "" {
		o.Network, o.Addr = "unix", socket
	}
	if trust.ServerName = host; secure {
		o.TLSConfig = trust
	}
	return o, nil
}

func password(profile *data.Map) string {
	if v := profile.Value("password"); v != nil {
		return data.Str(v)
	}
	return ""
}

func certificates(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("the file holds no certificate")
	}
	return pool, nil
}
