package memcached

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/daemon"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// testdata/calls.json has the results of Salt 3006.18 with a memcached, each call after the one before.
// ROOT is its port.
func TestCalls(t *testing.T) {
	replay.Check(t, "testdata/calls.json", replay.Options{Root: daemon.Memcached(t),
		Plugins: []loader.Plugin{Plugin()}})
}

func TestNumbers(t *testing.T) {
	port := daemon.Memcached(t)
	r := registry(t)
	call := func(fun string, args ...any) (any, error) {
		return r.Invoke(t.Context(), "memcached."+fun, args, data.NewMap("port", port))
	}
	for _, c := range []struct {
		fun  string
		args []any
		want any
		err  string
	}{
		{"set", []any{"n", int64(5)}, true, ""},
		{"increment", []any{"n"}, int64(6), ""},
		{"incr", []any{"n", int64(4)}, int64(10), ""},
		{"decrement", []any{"n", "3"}, int64(7), ""},
		{"decr", []any{"n"}, int64(6), ""},
		{"get", []any{"n"}, int64(6), ""},
		{"increment", []any{"n", "x"}, nil, "Delta value must be an integer"},
		{"increment", []any{"n", int64(-1)}, nil, "Delta value must be an integer"},
		{"increment", []any{"none"}, nil, "Key 'none' does not exist"},
		{"set", []any{"t", "text"}, true, ""},
		{"increment", []any{"t"}, nil, "Value for key 't' must be an integer to be incremented"},
		{"decrement", []any{"t"}, nil, "Value for key 't' must be an integer to be decremented"},
		{"set", []any{"t", 1.5}, nil, "only texts and integers can be stored, not a value of type float"},
		{"delete", []any{"t"}, true, ""}, {"get", []any{"t"}, nil, ""},
		{"set", []any{"big", strings.Repeat("x", 2<<20)}, false, ""},
	} {
		got, err := call(c.fun, c.args...)
		if text := fmt.Sprint(err); got != c.want || (c.err == "") != (err == nil) || c.err != "" && text != c.err {
			t.Errorf("%s %.40v gives %v, %v", c.fun, c.args, got, err)
		}
	}
	got, err := call("status")
	m, _ := got.(*data.Map)
	of, _ := m.Value("127.0.0.1:" + port + " (1)").(*data.Map)
	if err != nil || of.Text("curr_items") != "1" {
		t.Errorf("status gives %s, %v", data.Repr(got), err)
	}
}

// TestAnswers gives the client answers that memcached would not give.
func TestAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answers := make(chan string, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadString('\n')
			fmt.Fprint(c, <-answers)
			c.Close()
		}
	}()
	r := registry(t)
	for answer, want := range map[string]string{
		"": "EOF", strings.Repeat("x", 1<<17): "buffer full", "VALUE k 0 9999999999\r\n": "cannot be read",
		"VALUE k 0 5\r\nab": "ends early", "VALUE k 1 2\r\nab\r\nEND\r\n": "object of Python",
		"VALUE k 64 2\r\nab\r\nEND\r\n": "unknown flags 64", "VALUE k 8 2\r\nab\r\nEND\r\n": "unpack",
		"VALUE k 2 2\r\nab\r\nEND\r\n": "not the integer", "VALUE k 0 2\r\nab\r\nVALUE": "EOF",
		"ERROR\r\n": "cannot be read",
	} {
		answers <- answer
		got, err := r.Invoke(t.Context(), "memcached.get", []any{"k"},
			data.NewMap("port", int64(l.Addr().(*net.TCPAddr).Port)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q gives %v, %v", answer, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(16, []byte("text"))
	f.Add(2, []byte("5"))
	f.Add(24, []byte("x\x9cKL\x04\x00\x01%\x00\xc3"))
	f.Fuzz(func(t *testing.T, flags int, raw []byte) {
		v, err := decode(flags, raw)
		if err != nil {
			return
		}
		flags, again, err := encode(v, 0)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decode(flags, again); err != nil || !data.Equal(back, v) {
			if b, ok := v.([]byte); !ok || !bytes.Equal(b, again) {
				t.Errorf("%q became %v, %v", raw, back, err)
			}
		}
	})
}
