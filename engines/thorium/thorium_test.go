package thorium

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	testmodule "github.com/brineproject/brine/modules/test"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/standard"
)

// A master is the master of an engine that runs until the test ends.
type master struct {
	dir    string // thorium_roots
	bus    *eventbus.Bus
	orders chan string
	log    *logtest.Hook
}

func (m *master) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *master) fire(t *testing.T, tag string, fields ...any) {
	t.Helper()
	if err := m.bus.Fire(tag, data.NewMap(fields...)); err != nil {
		t.Fatal(err)
	}
}

// start starts the engine with further options of the master.
func start(t *testing.T, leads func() bool, files map[string]string, options ...any) *master {
	t.Helper()
	log, logged := logtest.NewNullLogger()
	m := &master{dir: t.TempDir(), bus: eventbus.New(eventbus.Options{}), orders: make(chan string, 100),
		log: logged}
	for name, text := range files {
		m.write(t, name, text)
	}
	opts := data.NewMap("id", "m_master", "cachedir", t.TempDir(), "thorium_roots",
		data.NewMap("base", []any{m.dir}), "thorium_top", "top.sls", "thorium_interval", 0.02, "thoriumenv", nil)
	opts.Update(data.NewMap(options...))
	functions, err := loader.NewRegistry(&loader.Env{Opts: opts, Log: log}, []loader.Plugin{testmodule.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	h := engines.Host{Name: "thorium", Bus: m.bus, Log: log, Opts: opts, Leads: leads, Functions: functions,
		Render: render.Brought{Renderers: standard.Renderers()},
		Order: func(_ context.Context, o *data.Map, yield func(string, *data.Map) bool) error {
			m.orders <- o.Text("fun") + " " + o.Text("tgt") + " " + data.Repr(o.Value("arg"))
			yield("", data.NewMap("jid", "1"))
			return nil
		}}
	run, err := New(h, data.NewMap())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the engine ends with %v", err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", m.lines())
		}
	})
	return m
}

func (m *master) lines() string {
	var b strings.Builder
	for _, e := range m.log.AllEntries() {
		b.WriteString(e.Message)
		if err, ok := e.Data["error"].(error); ok {
			b.WriteString(": " + err.Error())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// next returns the next order.
func (m *master) next(t *testing.T) string {
	t.Helper()
	select {
	case o := <-m.orders:
		return o
	case <-time.After(time.Minute):
		t.Fatal("there is no order")
		return ""
	}
}

func (m *master) waitFor(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !strings.Contains(m.lines(), text); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("the log does not have %q", text)
		}
	}
}

const top = "base:\n  '*':\n    - watch\n"

const watch = `
load:
  reg.list:
    - add: n
    - match: load/*
  calc.mean:
    - num: 2
    - ref: n
    - minimum: 10
    - require:
      - reg: load
restart:
  local.cmd:
    - tgt: 'web*'
    - func: service.restart
    - arg:
      - {{ salt['test.echo']('nginx') }}
    - require:
      - calc: load
every:
  check.event:
    - name: ping
  runner.cmd:
    - func: pong.{{ opts['id'] }}
    - require:
      - check: every
`

// A round runs the states on its events, with the register of the rounds before.
func TestRounds(t *testing.T) {
	m := start(t, nil, map[string]string{"top.sls": top, "watch.sls": watch})
	m.fire(t, "ping")
	if got := m.next(t); got != "pong.m_master  []" {
		t.Errorf("got %s", got)
	}
	for _, n := range []int64{5, 12} { // the mean of the newest two is too small
		m.fire(t, "load/web1", "n", n)
		m.fire(t, "ping")
		if got := m.next(t); got != "pong.m_master  []" {
			t.Errorf("after %d: %s", n, got)
		}
	}
	m.fire(t, "load/web1", "n", int64(20))
	if got := m.next(t); got != "service.restart web* ['nginx']" {
		t.Errorf("got %s", got)
	}
}

// Files that cannot be compiled are logged, and read again.
func TestFilesAreReadAgain(t *testing.T) {
	m := start(t, nil, map[string]string{"top.sls": top, "watch.sls": "a: {{"}, "thorium_recompile", int64(0))
	m.waitFor(t, "engine thorium: run thorium: compile thorium: ")
	m.write(t, "watch.sls", "a:\n  runner.cmd:\n    - func: first\n")
	m.waitForOrder(t, "first")
	m.write(t, "watch.sls", "a:\n  runner.cmd:\n    - func: second\n")
	m.waitForOrder(t, "second")
}

// waitForOrder fires events until an order has a function.
func (m *master) waitForOrder(t *testing.T, fun string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		select {
		case o := <-m.orders:
			if strings.HasPrefix(o, fun+" ") {
				return
			}
		case <-tick.C:
			m.fire(t, "x")
		case <-end:
			t.Fatalf("%s is not called", fun)
		}
	}
}

func TestWithoutATopFile(t *testing.T) {
	m := start(t, nil, nil)
	m.waitFor(t, "engine thorium: run thorium: No Top file found!")
}

// In a cluster only the leader reacts.
func TestOnlyTheLeaderReacts(t *testing.T) {
	var leads atomic.Bool
	m := start(t, leads.Load, map[string]string{"top.sls": top, "watch.sls": `
before:
  check.event: []
  runner.cmd:
    - func: wrong
    - require:
      - check: before
after:
  check.event: []
  runner.cmd:
    - func: right
    - require:
      - check: after
`})
	m.fire(t, "before")
	leads.Store(true)
	m.fire(t, "after")
	if got := m.next(t); got != "right  []" {
		t.Errorf("got %s", got)
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		opts, options *data.Map
		err           string
	}{
		{opts: data.NewMap("thorium_interval", int64(1)),
			options: data.NewMap("grains", true, "pillar_keys", []any{"a"})},
		{options: data.NewMap()},
		{options: data.NewMap("grain", true), err: "option grain is unknown"},
		{opts: data.NewMap("thorium_interval", "x"), options: data.NewMap(), err: "thorium_interval: expected"},
		{opts: data.NewMap("thorium_recompile", int64(-1)), options: data.NewMap(),
			err: "thorium_recompile: expected"},
	} {
		_, err := New(engines.Host{Opts: tt.opts, Bus: eventbus.New(eventbus.Options{})}, tt.options)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", data.Repr(tt.options), err, tt.err)
		}
	}
}
