package master

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// reacting is a bench whose reactor runs, and a reader of the events with some tags.
func reacting(
	t *testing.T, sls string, change func(cfg *config.Master, path string), prefixes ...string,
) (*bench, *eventbus.Subscription) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answer.sls")
	if err := os.WriteFile(path, []byte(sls), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(cfg *config.Master) {
		cfg.Reactor = []any{data.NewMap("ask/*", path)}
		if change != nil {
			change(cfg, path)
		}
	}, "web1", "db1")
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: prefixes})
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); _ = b.reactions.reactor.Run(ctx, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() { cancel(); <-ended; events.Close() })
	return b, events
}

func nextEvent(t *testing.T, events *eventbus.Subscription) (string, *data.Map) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	event, err := events.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := event.Map()
	if err != nil {
		t.Fatal(err)
	}
	return event.Tag, m
}

// TestReactionsOfEachType answers one event with a job, a runner and a wheel function: each is the
// reactor's own.
func TestReactionsOfEachType(t *testing.T) {
	b, events := reacting(t, "job:\n  local.test.arg:\n  - tgt: web*\n  - args:\n    - a: 1\ncall:\n  runner.test.arg:\n  - arg: [x]\n  - kwarg: {y: z}\nkeys:\n  wheel.key.list_all: []\n", nil, "salt/")
	if err := b.bus.Fire("ask/x", data.NewMap("id", "web1")); err != nil {
		t.Fatal(err)
	}
	tag, m := nextEvent(t, events)
	if !strings.HasPrefix(tag, "salt/job/") || !strings.HasSuffix(tag, "/new") ||
		m.Value("user") != "Reactor" || data.Repr(m.Value("minions")) != "['web1']" ||
		data.Repr(m.Value("arg")) != "[{'__kwarg__': True, 'a': 1}]" {
		t.Errorf("the job: %s %s", tag, data.Repr(m))
	}
	nextEvent(t, events) // publish
	var got []string
	for range 4 {
		tag, m = nextEvent(t, events)
		parts := strings.Split(tag, "/")
		got = append(got, strings.Join([]string{parts[1], parts[3], m.Text("fun"), m.Text("user"),
			data.Str(m.Value("success"))}, " "))
	}
	want := []string{"run new runner.test.arg Reactor None", "run ret runner.test.arg Reactor True",
		"wheel new wheel.key.list_all Reactor None", "wheel ret wheel.key.list_all Reactor True"}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(b.wire.messages()); n != 1 {
		t.Errorf("%d publications, want 1", n)
	}
}

// TestReactionFromTheFileServer reads the file of salt://, and again when the rules were read anew.
func TestReactionFromTheFileServer(t *testing.T) {
	b, events := reacting(t, "job:\n  local.test.ping: [{tgt: web1}]\n",
		func(cfg *config.Master, path string) {
			cfg.FileRoots = data.NewMap("base", []any{filepath.Dir(path)})
			cfg.Reactor = []any{data.NewMap("ask/*", "salt://answer.sls")}
		}, "salt/job/")
	if err := b.bus.Fire("ask/x", data.NewMap()); err != nil {
		t.Fatal(err)
	}
	if _, m := nextEvent(t, events); m.Text("fun") != "test.ping" {
		t.Errorf("the job: %s", data.Repr(m))
	}
	nextEvent(t, events)
	renewed := *b.cfg
	renewed.Reactor = []any{data.NewMap("other", "salt://other.sls")}
	folder := renewed.FileRoots.Value("base").([]any)[0].(string)
	if err := os.WriteFile(filepath.Join(folder, "other.sls"),
		[]byte("job:\n  local.test.version: [{tgt: web1}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Renew(&renewed)
	for _, tag := range []string{"ask/x", "other"} { // of one minion, so in order
		if err := b.bus.Fire(tag, data.NewMap("id", "web1")); err != nil {
			t.Fatal(err)
		}
	}
	if _, m := nextEvent(t, events); m.Text("fun") != "test.version" {
		t.Errorf("the job after the rules were renewed: %s", data.Repr(m))
	}
}

// TestReactionsSeeGrainsAndOptions renders with the grains of the master, and with options that
// were read anew.
func TestReactionsSeeGrainsAndOptions(t *testing.T) {
	b, events := reacting(t, "job:\n  local.test.echo:\n  - tgt: web1\n  - args: [{text: '{{ grains.id }} {{ grains.role }} {{ opts.note }}'}]\n", func(cfg *config.Master, _ string) {
		*cfg = *loaded(t, cfg, "id: m1_master\ngrains: {role: chief}\nnote: old\n")
	}, "salt/job/")
	for _, want := range []string{"m1_master chief old", "m1_master chief new"} {
		if err := b.bus.Fire("ask/x", data.NewMap()); err != nil {
			t.Fatal(err)
		}
		if _, m := nextEvent(t, events); data.Repr(m.Value("arg")) != "[{'__kwarg__': True, 'text': '"+want+"'}]" {
			t.Errorf("the job's arguments are %s, want %s", data.Repr(m.Value("arg")), want)
		}
		nextEvent(t, events)
		renewed, _ := b.cfg.Renew(loaded(t, b.cfg, "id: m1_master\nnote: new\n"))
		b.Renew(renewed)
	}
}

// loaded is the configuration of a file, with the directories and rules of cfg.
func loaded(t *testing.T, cfg *config.Master, text string) *config.Master {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	next, _, err := config.LoadMaster(dir, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	next.PKIDir, next.CacheDir, next.SockDir, next.TokenDir = cfg.PKIDir, cfg.CacheDir,
		cfg.SockDir, cfg.TokenDir
	next.User, next.Reactor = cfg.User, cfg.Reactor
	return next
}

// TestOrdersToTheReactorAreNotKept checks that event_return does not get orders to the reactor.
func TestOrdersToTheReactorAreNotKept(t *testing.T) {
	wants := eventFilter(config.DefaultMaster())
	if wants("salt/run/2026/salt/reactors/manage/add") ||
		!wants("salt/reactors/manage/add-complete") || !wants("salt/run/2026/ret") {
		t.Error("the key of root is given to event_return, or other events are not")
	}
}
