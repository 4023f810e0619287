package master

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/reactor"
)

// TestRootKeyOnTheBus is a user of publisher_acl who listens on the socket while rules of the
// reactor are read: by Salt's runner, which sends the key of root through the pull socket, by one
// inside the master, and by our own. He sees the answers and no key.
func TestRootKeyOnTheBus(t *testing.T) {
	b, _ := reacting(t, "", func(cfg *config.Master, _ string) { cfg.SockDir = socketDir(t) })
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); _ = b.serveBus(ctx, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() { cancel(); <-ended })
	raw, err := os.ReadFile(filepath.Join(b.cfg.CacheDir, ".root_key"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(raw))
	spy, err := eventbus.Dial(t.Context(), eventbus.MasterSockets(b.cfg.SockDir), eventbus.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer spy.Close()
	ours := data.NewMap()
	reactor.Sign(key, "list", ours)
	for name, fire := range map[string]func() error{
		"Salt's runner": func() error {
			return spy.Fire(t.Context(), "salt/run/2026/salt/reactors/manage/list", data.NewMap("key", key))
		},
		"with no run":      func() error { return spy.Fire(t.Context(), "salt/reactors/manage/list", data.NewMap("key", key)) },
		"in the master":    func() error { return b.bus.Fire("salt/run/2026/salt/reactors/manage/list", data.NewMap("key", key)) },
		"what is no order": func() error { return b.bus.Fire("x/salt/reactors/manage/list/y", data.NewMap("key", key)) },
		"our runner":       func() error { return spy.Fire(t.Context(), "salt/run/2026/salt/reactors/manage/list", ours) },
	} {
		if err := fire(); err != nil {
			t.Fatal(err)
		}
		if name == "what is no order" {
			continue // nobody answers; the next one shows it
		}
		within, done := context.WithTimeout(t.Context(), 10*time.Second)
		e, err := spy.Next(within)
		done()
		if err != nil || e.Tag != "salt/reactors/manage/list-results" ||
			strings.Contains(string(e.Data), key) {
			t.Errorf("%s: the socket has %s, %v", name, e.Tag, err)
		}
	}
}

// TestMinionsDoNotOrderTheReactor puts the tags of orders below those that are a minion's own.
func TestMinionsDoNotOrderTheReactor(t *testing.T) {
	for _, tag := range []string{
		"salt/minion/web1/salt/reactors/manage/add", "salt/beacon/web1/x/salt/reactors/manage/add",
		"salt/job/20261121074539197176/prog/web1/salt/reactors/manage/add",
		"own/salt/reactors/manage/list", "xsalt/reactors/manage/delete", "salt/reactors/manage",
		"salt/salt/reactors/manage/add",
	} {
		if checkTag("web1", tag) == nil {
			t.Errorf("%s may be fired by a minion", tag)
		}
	}
	if err := checkTag("web1", "salt/minion/web1/start"); err != nil {
		t.Error(err)
	}
}

// socketDir is a directory with a name that the path of a socket can hold.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
