package master

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// TestOnlyPeersNameTheMinionThatAsks sends jobs whose callers say that a minion asked for them:
// certificate policies trust that.
func TestOnlyPeersNameTheMinionThatAsks(t *testing.T) {
	b := aclBench(t, func(c *config.Master) { c.PublisherACL = data.NewMap("daemon", []any{"test.*"}) })
	key, err := os.ReadFile(filepath.Join(b.cfg.CacheDir, ".daemon_key"))
	if err != nil {
		t.Fatal(err)
	}
	marked := data.NewMap("__kwarg__", true, "__pub_id", "db1")
	for _, tt := range []struct {
		name, user string
		fun        any
		arg        []any
		kwargs     *data.Map
		refused    bool
	}{
		{"an option", "daemon", "test.kwarg", []any{}, data.NewMap("id", "db1"), false},
		{"an option of root", "root", "test.kwarg", []any{}, data.NewMap("id", "db1"), false},
		{"a keyword", "daemon", "test.kwarg", []any{marked}, nil, true},
		{"a keyword before others", "daemon",
			"test.kwarg", []any{marked, data.NewMap("__kwarg__", true, "a", int64(1))}, nil, true},
		{"a keyword in a text", "daemon", "test.kwarg", []any{"__pub_id=db1"}, nil, true},
		{"a keyword of one of several functions", "daemon", []any{"test.ping", "test.kwarg"},
			[]any{[]any{}, []any{"__pub_id=db1"}}, nil, true},
		{"a text with the name", "daemon", "test.echo", []any{"__pub_id"}, nil, false},
		{"a keyword of root", "root", "test.kwarg", []any{marked}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sent := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/job/"}})
			defer sent.Close()
			load := b.load("web1", "glob", tt.fun, tt.arg)
			load.Set("user", tt.user)
			if tt.user != "root" {
				load.Set("key", string(key))
			}
			if tt.kwargs != nil {
				load.Set("kwargs", tt.kwargs)
			}
			before := len(b.wire.messages())
			reply := b.clear(t, load)
			if tt.refused {
				if errorName(reply) != "AuthorizationError" || len(b.wire.messages()) > before {
					t.Errorf("not refused: %s", data.Repr(reply))
				}
				return
			}
			if len(b.wire.messages()) == before {
				t.Fatalf("not sent: %s", data.Repr(reply))
			}
			if pub := published(t, sent); pub.Has("id") {
				t.Errorf("published %s", data.Repr(pub))
			}
		})
	}
}

// published returns the first publication that a subscription tells of.
func published(t *testing.T, s *eventbus.Subscription) *data.Map {
	t.Helper()
	for e := range s.All(t.Context()) {
		if strings.HasSuffix(e.Tag, "/publish") {
			pub, err := e.Map()
			if err != nil {
				t.Fatal(err)
			}
			return pub
		}
	}
	t.Fatal("no publication")
	return nil
}
