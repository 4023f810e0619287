// Package memcached is Salt's module memcached: values in memcached servers, by its text protocol
// (salt/modules/memcached.py and the library python-memcached).
//
// memcached.go has the functions, client.go the protocol.
//
// Differences from Salt: only texts and integers can be stored and read, no objects of Python. Bytes that
// are UTF-8 are texts. increment and decrement look at the given server, and not at the default one, and
// take a number that another program stored as a text. A delta must not be negative.
package memcached

import (
	"context"
	"regexp"
	"strconv"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module memcached.
func Plugin() loader.Plugin { return loader.Plugin{Name: "memcached", New: newModule} }

type module struct{}

func newModule(*loader.Env) (*loader.Module, error) {
	m := &module{}
	increment, decrement := loader.F("increment", m.increment), loader.F("decrement", m.decrement)
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add", m.add),
		decrement.Alias("decr"),
		decrement,
		loader.F("delete", m.delete),
		loader.F("get", m.get),
		increment.Alias("incr"),
		increment,
		loader.F("replace", m.replace),
		loader.F("set", m.set).Def("set_"),
		loader.F("status", m.status),
	}}, nil
}

// A server is the address of a server.
type server struct {
	Host string `default:"'127.0.0.1'"`
	Port any    `default:"11211"`
}

// do connects to the server and passes the connection on.
func (s server) do(ctx context.Context, use func(*conn) (any, error)) (any, error) {
	port := data.Str(s.Port)
	if !regexp.MustCompile(`^[0-9]+$`).MatchString(port) {
		return nil, loader.Invocation("port must be an integer")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := dial(ctx, s.Host, port)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	v, err := use(c)
	if err != nil && loader.KindOf(err) == loader.KindExecution {
		err = loader.Execution("%w", err)
	}
	return v, err
}

func integer(name string, v any) (int64, error) {
	n, ok := v.(int64)
	if b, is := v.(bool); is {
		ok = true
		if b {
			n = 1
		}
	}
	if !ok {
		return 0, loader.Invocation("'%s' must be an integer", name)
	}
	return n, nil
}

// status returns the statistics of a server below its address, or False if it does not answer.
//
// CLI Example:
//
//	salt '*' memcached.status host=127.0.0.1 port=11211
func (m *module) status(ctx context.Context, s server) (any, error) {
	v, err := s.do(ctx, func(c *conn) (any, error) {
		all, err := c.stats()
		return data.NewMap(s.Host+":"+data.Str(s.Port)+" (1)", all), err
	})
	if loader.KindOf(err) == loader.KindExecution {
		return false, nil
	}
	return v, err
}

type keyArgs struct {
	Key string
	server
}

// get returns a value, or None if there is none.
//
// CLI Example:
//
//	salt '*' memcached.get KEY
func (m *module) get(ctx context.Context, a keyArgs) (any, error) {
	return a.do(ctx, func(c *conn) (any, error) {
		if err := checkKey(a.Key); err != nil {
			return nil, err
		}
		return c.get(a.Key)
	})
}

type storeArgs struct {
	Key   string
	Value any
	server
	Time           any `default:"0"`
	MinCompressLen any `default:"0"`
}

// set stores a value, and returns whether memcached took it.
//
// value
//
//	A text or an integer.
//
// time
//
//	The seconds until the value is dropped; 0 keeps it. A number above 2592000 is a Unix time.
//
// min_compress_len
//
//	The length in bytes from which on texts are compressed; 0 compresses none.
//
// CLI Example:
//
//	salt '*' memcached.set KEY VALUE
func (m *module) set(ctx context.Context, a storeArgs) (any, error) { return a.store(ctx, "set") }

// add stores a value under a key that has none, and returns whether it was stored. Its arguments are those of
// memcached.set.
//
// CLI Example:
//
//	salt '*' memcached.add KEY VALUE
func (m *module) add(ctx context.Context, a storeArgs) (any, error) { return a.store(ctx, "add") }

// replace stores a value under a key that has one, and returns whether it was stored. Its arguments are
// those of memcached.set.
//
// CLI Example:
//
//	salt '*' memcached.replace KEY VALUE
func (m *module) replace(ctx context.Context, a storeArgs) (any, error) {
	v, err := a.store(ctx, "replace")
	if err == errDown || loader.KindOf(err) == loader.KindExecution && err.Error() == errDown.Error() {
		return int64(0), nil
	}
	return v, err
}

func (a storeArgs) store(ctx context.Context, command string) (any, error) {
	seconds, err := integer("time", a.Time)
	if err != nil {
		return nil, err
	}
	least, err := integer("min_compress_len", a.MinCompressLen)
	if err != nil {
		return nil, err
	}
	flags, raw, err := encode(a.Value, least)
	if err != nil {
		return nil, err
	}
	return a.do(ctx, func(c *conn) (any, error) {
		if err := checkKey(a.Key); err != nil {
			return nil, err
		}
		line, err := c.command(command+" "+a.Key+" "+strconv.Itoa(flags)+" "+strconv.FormatInt(seconds, 10)+" "+
			strconv.Itoa(len(raw)), raw)
		return line == "STORED", err
	})
}

type deleteArgs struct {
	Key string
	server
	Time any `default:"0"`
}

// delete deletes a value, and returns True also if there was none. time must be 0 for memcached 1.4 and
// newer.
//
// CLI Example:
//
//	salt '*' memcached.delete KEY
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	seconds, err := integer("time", a.Time)
	if err != nil {
		return nil, err
	}
	return a.do(ctx, func(c *conn) (any, error) {
		if err := checkKey(a.Key); err != nil {
			return nil, err
		}
		line, err := c.command("delete "+a.Key+" "+strconv.FormatInt(seconds, 10), nil)
		return line == "DELETED" || line == "NOT_FOUND", err
	})
}

type deltaArgs struct {
	Key   string
	Delta any `default:"1"`
	server
}

// increment adds delta to a number, and returns the sum.
//
// CLI Example:
//
//	salt '*' memcached.increment KEY
//	salt '*' memcached.increment KEY delta=2
func (m *module) increment(ctx context.Context, a deltaArgs) (any, error) {
	return a.change(ctx, "incr")
}

// decrement subtracts delta from a number, and returns the difference, which is never below 0.
//
// CLI Example:
//
//	salt '*' memcached.decrement KEY
//	salt '*' memcached.decrement KEY delta=2
func (m *module) decrement(ctx context.Context, a deltaArgs) (any, error) {
	return a.change(ctx, "decr")
}

func (a deltaArgs) change(ctx context.Context, command string) (any, error) {
	delta, err := loader.Int(a.Delta)
	if err != nil || delta < 0 {
		return nil, loader.Invocation("Delta value must be an integer")
	}
	return a.do(ctx, func(c *conn) (any, error) {
		if err := checkKey(a.Key); err != nil {
			return nil, err
		}
		line, err := c.command(command+" "+a.Key+" "+strconv.FormatInt(delta, 10), nil)
		switch {
		case err != nil:
			return nil, err
		case line == "NOT_FOUND":
			return nil, loader.Execution("Key '%s' does not exist", a.Key)
		}
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return nil, loader.Execution("Value for key '%s' must be an integer to be %sed", a.Key,
				map[string]string{"incr": "increment", "decr": "decrement"}[command])
		}
		return n, nil
	})
}
