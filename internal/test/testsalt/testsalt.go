// Package testsalt runs a Brine master and minions in one process on loopback, for tests.
package testsalt

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	stdauth "github.com/brineproject/brine/auth/standard"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/cli/saltmaster"
	"github.com/brineproject/brine/cli/saltminion"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	stdengines "github.com/brineproject/brine/engines/standard"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/modules"
	stdsources "github.com/brineproject/brine/pillar/sources/standard"
	"github.com/brineproject/brine/returners/opener"
	stdrunners "github.com/brineproject/brine/runners/standard"
	stdsdb "github.com/brineproject/brine/sdb/standard"
	"github.com/brineproject/brine/states"
	"github.com/brineproject/brine/tops"
	"github.com/brineproject/brine/transport"
	wheels "github.com/brineproject/brine/wheel"
)

// A Master is a master in this process.
type Master struct {
	Config  *config.Master
	Master  *master.Master
	Address string // HOST:PORT of the request port, for minions
	Log     *logrus.Logger
	stop    context.CancelFunc
	done    chan error
}

// A Minion is a minion in this process.
type Minion struct {
	Config *config.Minion
	Minion *minion.Minion
	stop   context.CancelFunc
	done   chan error
}

// Dir returns a directory with a short path, because paths of unix sockets are limited. It is
// removed after the test.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "brine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Log returns a log that is added to the test's output if the test fails.
func Log(t testing.TB) *logrus.Logger {
	log := logrus.New()
	log.SetLevel(logrus.DebugLevel)
	log.SetFormatter(&logrus.TextFormatter{DisableColors: true, FullTimestamp: true,
		TimestampFormat: "15:04:05.000"})
	buf := &syncBuffer{}
	log.SetOutput(buf)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", buf.text())
		}
	})
	return log
}

type syncBuffer struct {
	mu  sync.Mutex
	buf []byte
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf = append(b.buf, p...)
	return len(p), nil
}

func (b *syncBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.buf)
}

// MasterConfig returns the configuration of a master on loopback with all its files below dir.
func MasterConfig(dir string) *config.Master {
	cfg := config.DefaultMaster()
	cfg.Interface, cfg.PublishPort, cfg.RetPort = "127.0.0.1", 0, 0
	cfg.PKIDir, cfg.CacheDir, cfg.SockDir = filepath.Join(dir, "pki"), filepath.Join(dir, "cache"),
		filepath.Join(dir, "run")
	cfg.AutoAccept, cfg.PidFile = true, ""
	cfg.User = "root"
	return cfg
}

// StartMaster runs a master until Stop or the end of the test.
func StartMaster(t testing.TB, cfg *config.Master) *Master {
	t.Helper()
	m := &Master{Config: cfg, Log: Log(t)}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	ports, err := saltmaster.Ports(cfg)
	if err != nil {
		t.Fatal(err)
	}
	own := code.New(code.Options{Opts: cfg.Map(), Daemon: true, Log: m.Log})
	t.Cleanup(own.Close) // after the end of the master
	if m.Master, err = master.New(ctx, cfg, master.Options{
		Ports: ports, Jobs: saltmaster.JobCache(cfg, m.Log), JobCaches: opener.Names(opener.Jobs),
		ExtJobs: saltmaster.ExtJobCache(cfg, m.Log), Own: own,
		EventSinks: saltmaster.EventSinks(cfg), Engines: stdengines.Engines(), Login: stdauth.Open,
		Runners: stdrunners.Plugins, Wheel: wheels.Plugins, Modules: modules.Plugins,
		States: states.Plugins(), Order: cli.MasterOrder(cfg, os.Getenv), Render: saltmaster.Brought(own),
		Sources: stdsources.Sources(), Tops: tops.Sources(), SDB: stdsdb.Plugins(), Log: m.Log,
	}); err != nil {
		t.Fatal(err)
	}
	reply, publish := m.Master.Addrs()
	m.Address = reply.String()
	cfg.RetPort, cfg.PublishPort = reply.(*net.TCPAddr).Port, publish.(*net.TCPAddr).Port
	m.done = make(chan error, 1)
	ready := make(chan struct{})
	go func() { m.done <- m.Master.Run(ctx, func() { close(ready) }) }()
	t.Cleanup(func() { m.Stop(t) })
	select {
	case <-ready:
	case err := <-m.done:
		m.done = nil
		t.Fatalf("the master ends at its start: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the master does not become ready within a minute")
	}
	return m
}

// TryMaster starts a master and returns its error. If it starts, it is stopped.
func TryMaster(t testing.TB, cfg *config.Master) error {
	t.Helper()
	ports, err := saltmaster.Ports(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	log := Log(t)
	m, err := master.New(ctx, cfg,
		master.Options{Ports: ports, Jobs: opener.JobCache(cfg, log), Log: log})
	cancel()
	if err != nil {
		return err
	}
	return m.Run(ctx, func() {})
}

// Stop stops the master and waits for its end.
func (m *Master) Stop(t testing.TB) {
	t.Helper()
	m.stop()
	if m.done == nil {
		return
	}
	if err := <-m.done; err != nil {
		t.Errorf("master: %v", err)
	}
	m.done = nil
}

// Listen returns a reader of the master's bus.
func (m *Master) Listen(t testing.TB, prefixes ...string) *eventbus.Client {
	t.Helper()
	c, err := eventbus.Dial(t.Context(), eventbus.MasterSockets(m.Config.SockDir),
		eventbus.ClientOptions{Subscribe: eventbus.SubscribeOptions{Prefixes: prefixes}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// AwaitEvent waits for an event whose tag begins with prefix.
func AwaitEvent(t testing.TB, c *eventbus.Client, prefix string) eventbus.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		e, err := c.Next(ctx)
		if err != nil {
			t.Fatalf("waiting for event %s: %v", prefix, err)
		}
		if len(e.Tag) >= len(prefix) && e.Tag[:len(prefix)] == prefix {
			return e
		}
	}
}

// Client returns a client that submits jobs to the master.
func (m *Master) Client(t testing.TB) *client.Local {
	t.Helper()
	opts := m.options()
	out := m.requester(t)
	l, err := client.Open(t.Context(),
		client.Options{CacheDir: m.Config.CacheDir, SockDir: m.Config.SockDir,
			User: m.Config.User, Caller: "root", Out: out, Log: m.Log, Tiers: client.TiersOf(opts)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// options returns the configuration of the master as programs on its host have it.
func (m *Master) options() *data.Map {
	opts := m.Config.Map().Clone()
	opts.Set("transport", m.Config.Transport)
	return opts
}

// requester returns a connection for orders. It is closed at the end of the test.
func (m *Master) requester(t testing.TB) transport.Requester {
	t.Helper()
	wire, err := cli.HostWire(m.options())
	if err != nil {
		t.Fatal(err)
	}
	out := wire.Request(transport.Dialer{Addr: "tcp://" + m.Address})
	t.Cleanup(func() { out.Close() })
	return out
}

// MinionConfig returns the configuration of a minion of the master at address with all its files
// below dir.
func MinionConfig(dir, id, address string) *config.Minion {
	cfg := config.DefaultMinion()
	host, port, _ := net.SplitHostPort(address)
	cfg.ID, cfg.Master = id, []string{host}
	cfg.MasterPort, _ = strconv.Atoi(port)
	cfg.PKIDir, cfg.CacheDir, cfg.SockDir = filepath.Join(dir, "pki"), filepath.Join(dir, "cache"),
		filepath.Join(dir, "run")
	cfg.ExtensionModules = filepath.Join(cfg.CacheDir, "extmods")
	cfg.AcceptanceWaitTime, cfg.ReconDefault, cfg.ReconMax = 200*time.Millisecond,
		50*time.Millisecond, 200*time.Millisecond
	cfg.ConfFile = filepath.Join(dir, "conf", "minion")
	cfg.RandomReauthDelay = 50 * time.Millisecond
	return cfg
}

// MinionOptions returns the options of a minion with this configuration, as in its program.
func MinionOptions(t testing.TB, cfg *config.Minion) minion.Options {
	t.Helper()
	log := Log(t)
	code := saltminion.NewCode(cfg.Map(), log, true)
	t.Cleanup(code.Close)
	o, err := saltminion.Options(cfg, os.Getenv, log, code)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// StartMinion runs a minion until Stop or the end of the test.
func StartMinion(t testing.TB, cfg *config.Minion) *Minion {
	t.Helper()
	return StartMinionWith(t, cfg, MinionOptions(t, cfg))
}

// StartOwnMinion is StartMinion for a minion that also runs users' own plug-ins in Python.
func StartOwnMinion(t testing.TB, cfg *config.Minion) *Minion {
	t.Helper()
	code := saltminion.NewCode(cfg.Map(), Log(t), true)
	t.Cleanup(code.Close)
	o, err := saltminion.Options(cfg, os.Getenv, Log(t), code)
	if err != nil {
		t.Fatal(err)
	}
	o.Grains = saltminion.Grains(func() grains.Options {
		return grains.Options{Opts: cfg.Map(), Env: os.Getenv, Log: Log(t), ConfFile: cfg.ConfFile,
			Own: code.Grains}
	})
	return StartMinionWith(t, cfg, o)
}

// StartMinionWith is StartMinion with other options.
func StartMinionWith(t testing.TB, cfg *config.Minion, o minion.Options) *Minion {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	m := &Minion{Config: cfg, stop: stop, done: make(chan error, 1)}
	var err error
	if m.Minion, err = minion.New(ctx, cfg, o); err != nil {
		t.Fatal(err)
	}
	go func() { m.done <- m.Minion.Run(ctx, func() {}) }()
	t.Cleanup(func() { m.Stop() })
	return m
}

// Stop stops the minion and returns the result of its Run.
func (m *Minion) Stop() error {
	m.stop()
	if m.done == nil {
		return nil
	}
	err := <-m.done
	m.done = nil
	return err
}
