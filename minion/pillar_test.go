package minion_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/pillar"
)

// lay writes files of pillar below a directory.
func lay(t *testing.T, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		at := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// masterless returns the configuration of a minion that compiles its own pillar from the directory
// pillar below dir.
func masterless(t *testing.T, dir string) *config.Minion {
	cfg := testsalt.MinionConfig(dir, "web1", "127.0.0.1:1")
	cfg.FileClient, cfg.MasterType = "local", "disable"
	cfg.PillarRoots = data.NewMap("base", []any{filepath.Join(dir, "pillar")},
		"dev", []any{filepath.Join(dir, "dev")})
	return cfg
}

// echo is an external pillar that shows what it sees.
type echo struct{}

func (echo) Name() string { return "echo" }

func (echo) Pillar(_ context.Context, q pillar.Query) (*data.Map, error) {
	return data.NewMap("seen", q.Pillar.Value("over")), nil
}

func TestCallerCompilesItsPillar(t *testing.T) {
	dir := testsalt.Dir(t)
	lay(t, dir, "pillar/top.sls", "base:\n  web*: [p]\n", "pillar/p.sls",
		"a: {{ grains.id }}-{{ salt['config.get']('id') }}\nover: below\n",
		"dev/top.sls", "dev:\n  web1: [d]\n", "dev/d.sls", "only: dev\n", "dev/loop.sls",
		"x: {{ salt['pillar.items']() }}\n")
	opts := masterless(t, dir).Map()
	opts.Set("ext_pillar", []any{data.NewMap("echo", nil)})
	cfg := masterless(t, dir)
	o := testsalt.MinionOptions(t, cfg)
	o.Sources = []pillar.Source{echo{}}
	c, err := minion.NewCaller(t.Context(), cfg, opts, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Compile(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for line, want := range map[string]string{
			"raw":                                "{'a': 'web1-web1', 'over': 'below', 'only': 'dev', 'seen': 'below'}",
			"items | pillarenv=dev":              "{'a': 'web1-web1', 'over': 'below', 'only': 'dev', 'seen': None}",
			"items | pillar={over: top}":         "{'a': 'web1-web1', 'over': 'top', 'only': 'dev', 'seen': 'top'}",
			"get | only | pillarenv=dev":         "'dev'",
			"ext | {nothere: x} | pillar={z: 1}": "{'a': 'web1-web1', 'over': 'below', 'only': 'dev', 'seen': 'below', 'z': 1}",
		} {
			words := strings.Split(line, " | ")
			res := c.Functions().Call(t.Context(), "pillar."+words[0], loader.WireArgs(words[1:]),
				loader.CallOptions{})
			if got := data.Repr(res.Value); got != want {
				t.Errorf("pillar.%s\ngot  %s\nwant %s", line, got, want)
			}
		}
	}
	lay(t, dir, "dev/top.sls", "dev:\n  web1: [loop]\n")
	res := c.Functions().Call(t.Context(),
		"pillar.items", loader.WireArgs([]string{"pillarenv=dev"}), loader.CallOptions{})
	if got := data.Repr(res.Value); !strings.Contains(got, "_errors") {
		t.Errorf("a pillar that asks for itself: %s", got)
	}
}

// late is an external pillar of which the first answer comes when it is let go.
type late struct {
	asked      atomic.Int64
	begun, let chan struct{}
}

func (*late) Name() string { return "late" }

func (s *late) Pillar(context.Context, pillar.Query) (*data.Map, error) {
	n := s.asked.Add(1)
	if n == 1 {
		close(s.begun)
		<-s.let
	}
	return data.NewMap("answer", n), nil
}

func TestAnOlderPillarReplacesNoNewerOne(t *testing.T) {
	dir := testsalt.Dir(t)
	cfg := masterless(t, dir)
	opts := cfg.Map()
	opts.Set("ext_pillar", []any{data.NewMap("late", nil)})
	source := &late{begun: make(chan struct{}), let: make(chan struct{})}
	o := testsalt.MinionOptions(t, cfg)
	o.Sources = []pillar.Source{source}
	c, err := minion.NewCaller(t.Context(), cfg, opts, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := make(chan error, 1)
	go func() { first <- c.Compile(t.Context()) }()
	<-source.begun
	err = c.Compile(t.Context())
	close(source.let)
	if err := errors.Join(err, <-first); err != nil {
		t.Fatal(err)
	}
	res := c.Functions().Call(t.Context(), "pillar.raw", nil, loader.CallOptions{})
	if got := data.Repr(res.Value); got != "{'answer': 2}" {
		t.Errorf("after a slow answer to an earlier request: %s", got)
	}
}

// The pillar of a daemon without a master adds jobs, and a refresh drops keys that the files no
// longer contain.
func TestMasterlessMinionRefreshesItsPillar(t *testing.T) {
	dir := testsalt.Dir(t)
	lay(t, dir, "pillar/top.sls", "base:\n  '*': [p]\n", "pillar/p.sls",
		"a: 1\nschedule:\n  often: {function: test.ping, minutes: 60}\n")
	m := testsalt.StartMinion(t, masterless(t, dir))
	if got := data.Repr(m.Minion.Pillar().Value("a")); got != "1" {
		t.Fatalf("pillar at the start: %s", data.Repr(m.Minion.Pillar()))
	}
	bus := dial(t, m)
	for range 2 {
		lay(t, dir, "pillar/p.sls", "b: 2\n")
		if err := bus.Fire(t.Context(), "pillar_refresh", data.NewMap()); err != nil {
			t.Fatal(err)
		}
		testsalt.AwaitEvent(t, bus, "/salt/minion/minion_pillar_refresh_complete")
		if got := data.Repr(m.Minion.Pillar()); got != "{'b': 2}" {
			t.Errorf("pillar after a refresh: %s", got)
		}
	}
}

func dial(t *testing.T, m *testsalt.Minion) *eventbus.Client {
	t.Helper()
	sockets, err := eventbus.MinionSockets(m.Config.SockDir, m.Config.ID, m.Config.HashType)
	if err != nil {
		t.Fatal(err)
	}
	awaitFile(t, strings.TrimPrefix(sockets.Pull, "ipc://"), true)
	bus, err := eventbus.Dial(t.Context(), sockets, eventbus.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Close() })
	return bus
}

// A minion that has a master and file_client: local compiles its pillar itself, unless
// use_master_when_local is set.
func TestMinionWithAMasterAndItsOwnPillar(t *testing.T) {
	f := startFleet(t, func(cfg *config.Minion) {
		dir := filepath.Dir(filepath.Dir(cfg.ConfFile))
		lay(t, dir, "pillar/top.sls", "base:\n  '*': [p]\n", "pillar/p.sls", "own: true\n")
		cfg.FileClient = "local"
		cfg.PillarRoots = data.NewMap("base", []any{filepath.Join(dir, "pillar")})
	})
	for range 2 {
		if got := data.Repr(f.run(t, "pillar.items").Value("return")); got != "{'own': True}" {
			t.Errorf("pillar.items: %s", got)
		}
	}
}
