package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A host answers as a master does. The minions return one by one, a second apart.
type host struct {
	loader.Masters // for the methods that the tests do not use

	allowed bool
	minions []any
	silent  int // how many of them never return
	fails   error
	began   time.Time
	asked   []string
}

func (h *host) Request(_ context.Context, load *data.Map) (any, error) {
	cmd := load.Text("cmd")
	if h.fails != nil {
		return nil, h.fails
	}
	if cmd != "pub_ret" || len(h.asked) == 0 || h.asked[len(h.asked)-1] != data.Repr(load) {
		h.asked = append(h.asked, data.Repr(load))
	}
	switch {
	case !h.allowed:
		return data.NewMap(), nil
	case cmd == "minion_runner":
		return data.NewMap("from", load.Text("fun")), nil
	case cmd == "minion_pub":
		h.began = time.Now()
		return data.NewMap("jid", "20261121074539197176", "minions", h.minions), nil
	}
	found := data.NewMap()
	for i, id := range h.minions[:len(h.minions)-h.silent] {
		if time.Since(h.began) >= time.Duration(i)*time.Second {
			found.Set(id, data.NewMap("ret", "of "+data.Str(id), "out", "txt"))
		}
	}
	return found, nil
}

func (h *host) RequestTo(ctx context.Context, master string, load *data.Map) (any, error) {
	h.asked = append(h.asked, "to "+master)
	return h.Request(ctx, load)
}

func (h *host) URIs() []string {
	return []string{"tcp://10.0.0.1:4506", "tcp://10.0.0.2:4506"}
}

func (h *host) registry(t *testing.T) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1"),
		Host: loader.Host{Masters: h}}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(t *testing.T, r *loader.Registry, line string) string {
	t.Helper()
	words := strings.Split(line, " | ")
	res := r.Call(t.Context(), "publish."+words[0], loader.WireArgs(words[1:]), loader.CallOptions{})
	return data.Repr(res.Value)
}

func TestCalls(t *testing.T) {
	for _, tt := range []struct {
		line string
		host host
		want string
		took time.Duration
	}{
		{"publish | '*' | test.ping", host{allowed: true, minions: []any{"a", "b"}},
			"{'a': 'of a', 'b': 'of b'}", 1200 * time.Millisecond},
		{"full_data | '*' | test.ping", host{allowed: true, minions: []any{"a"}},
			"{'a': {'ret': 'of a', 'out': 'txt'}}", 0},
		{"publish | '*' | test.ping", host{allowed: true, minions: []any{"a", "b"}, silent: 1},
			"{'a': 'of a'}", 5100 * time.Millisecond},
		{"publish | '*' | test.ping | timeout=1",
			host{allowed: true, minions: []any{"a"}, silent: 1}, "{}", 1200 * time.Millisecond},
		{"publish | nobody | test.ping", host{allowed: true, minions: []any{}}, "None", 0},
		{"publish | '*' | test.ping", host{}, "{}", 0},
		{"publish | '*' | publish.publish", host{allowed: true, minions: []any{"a"}}, "{}", 0},
		{"publish | '*' | test.ping", host{fails: fmt.Errorf("request: %w",
			context.DeadlineExceeded)}, "\"'test.ping' publish timed out\"", 0},
		{"publish | '*' | test.ping | timeout=soon", host{allowed: true},
			"\"could not convert string to float: 'soon'\"", 0},
		{"runner | test.arg", host{allowed: true}, "{'from': 'test.arg'}", 0},
		{"runner | test.arg", host{}, "{}", 0},
		{"runner | test.arg", host{fails: context.DeadlineExceeded},
			"\"'test.arg' runner publish timed out\"", 0},
		{"publish | '*' | test.ping | via_master=10.0.0.9", host{allowed: true},
			"\"ERROR executing 'publish.publish': Could not find match for 10.0.0.9 in list of configured masters " +
				"['tcp://10.0.0.1:4506', 'tcp://10.0.0.2:4506'] when using `via_master` option\"", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := tt.host.registry(t)
			for range 2 {
				began := time.Now()
				if got := call(t, r, tt.line); !strings.Contains(got, strings.Trim(tt.want, `"`)) {
					t.Errorf("publish.%s gives %s, want %s", tt.line, got, tt.want)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("publish.%s takes %v, want %v", tt.line, took, tt.took)
				}
			}
		})
	}
}

func TestRequests(t *testing.T) {
	h := &host{allowed: true, minions: []any{"a"}}
	r := h.registry(t)
	for _, tt := range []struct{ line, want string }{
		{"publish | G@a:b | test.arg | a | compound | mysql | 3",
			"{'cmd': 'minion_pub', 'fun': 'test.arg', 'arg': ['a'], 'tgt': 'G@a:b', 'tgt_type': 'compound', 'ret': 'mysql', " +
				"'tmo': 3, 'form': 'clean', 'id': 'web1', 'no_parse': []} {'cmd': 'pub_ret', 'id': 'web1', 'jid': '20261121074539197176'}"},
		{"full_data | '*' | test.ping | '' | grain",
			"{'cmd': 'minion_pub', 'fun': 'test.ping', 'arg': [''], 'tgt': '*', 'tgt_type': 'grain', 'ret': '', " +
				"'tmo': 5, 'form': 'full', 'id': 'web1', 'no_parse': []} {'cmd': 'pub_ret', 'id': 'web1', 'jid': '20261121074539197176'}"},
		{"runner | test.arg | \"['a=b', 7]\"",
			"{'cmd': 'minion_runner', 'fun': 'test.arg', 'arg': ['a=b', 7], 'tmo': 5, 'id': 'web1', 'no_parse': []}"},
		{"publish | '*' | test.ping | via_master=10.0.0.2",
			"to tcp://10.0.0.2:4506 {'cmd': 'minion_pub', 'fun': 'test.ping', 'arg': [], 'tgt': '*', 'tgt_type': 'glob', 'ret': '', " +
				"'tmo': 5, 'form': 'clean', 'id': 'web1', 'no_parse': []} to tcp://10.0.0.2:4506 {'cmd': 'pub_ret', 'id': 'web1', 'jid': '20261121074539197176'}"},
	} {
		h.asked = nil
		call(t, r, tt.line)
		if got := strings.Join(h.asked, " "); got != tt.want {
			t.Errorf("publish.%s asks\n%s\nwant\n%s", tt.line, got, tt.want)
		}
	}
}

func TestNoMaster(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"publish | '*' | test.ping": "{}", "full_data | '*' | test.ping": "{}",
		"runner | test.arg": "'No access to master. If using salt-call with --local, please remove.'",
	} {
		if got := call(t, r, line); got != want {
			t.Errorf("publish.%s gives %s, want %s", line, got, want)
		}
	}
}

func TestErrorNamesCause(t *testing.T) {
	h := &host{fails: errors.New("the master is gone")}
	if _, err := h.registry(t).Invoke(t.Context(), "publish.publish", []any{"*", "test.ping"},
		nil); err == nil || !strings.Contains(err.Error(), "the master is gone") {
		t.Errorf("gives %v", err)
	}
}
