package minion_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
)

const startTag = "salt/minion/web1/start"

// A pair is two masters with the same key, and a minion that knows both.
type pair struct {
	masters [2]*testsalt.Master
	events  [2]*eventbus.Client
	minion  *testsalt.Minion
	cfg     *config.Minion
	bus     *eventbus.Client // of the minion
	logs    *logtest.Hook    // of the minion
}

// newPair starts the masters. The minion, whose masters are fronts or else the masters themselves,
// is not started.
func newPair(t *testing.T) *pair {
	t.Helper()
	var first string
	return newPairOf(t, func(cfg *config.Master) {
		if first == "" {
			first = cfg.PKIDir
			return
		}
		copyKey(t, first, cfg.PKIDir)
	})
}

// newPairOf does the same with masters that prepare has prepared, without giving them the same key.
func newPairOf(t *testing.T, prepare func(*config.Master)) *pair {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	p := &pair{}
	for i := range p.masters {
		cfg := testsalt.MasterConfig(testsalt.Dir(t))
		prepare(cfg)
		ports := freeport.New(t, 2) // the same after a restart
		cfg.PublishPort, cfg.RetPort = ports[0], ports[1]
		p.start(t, i, cfg)
	}
	p.cfg = testsalt.MinionConfig(testsalt.Dir(t), "web1", p.masters[0].Address)
	p.cfg.Master = []string{p.masters[0].Address, p.masters[1].Address}
	p.cfg.MasterType, p.cfg.MasterAliveInterval = "failover", time.Second
	return p
}

func copyKey(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"master.pem", "master.pub"} {
		body, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *pair) start(t *testing.T, i int, cfg *config.Master) {
	t.Helper()
	p.masters[i] = testsalt.StartMaster(t, cfg)
	p.events[i] = p.masters[i].Listen(t)
}

func (p *pair) stop(t *testing.T, i int) {
	t.Helper()
	p.events[i].Close()
	p.masters[i].Stop(t)
}

func (p *pair) startMinion(t *testing.T) {
	t.Helper()
	o, log := testsalt.MinionOptions(t, p.cfg), testsalt.Log(t)
	p.logs = logtest.NewLocal(log)
	o.Log = log
	p.minion = testsalt.StartMinionWith(t, p.cfg, o)
	p.bus = dialMinion(t, p.cfg)
}

// logged returns the lines of the minion's log of a level or more severe ones, with their errors.
func (p *pair) logged(level logrus.Level) []string {
	var lines []string
	for _, e := range p.logs.AllEntries() {
		if err, _ := e.Data[logrus.ErrorKey].(error); e.Level <= level && err != nil {
			lines = append(lines, e.Message+": "+err.Error())
		} else if e.Level <= level {
			lines = append(lines, e.Message)
		}
	}
	return lines
}

// checkMoves compares the log with the moves from one master to another.
func (p *pair) checkMoves(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, line := range p.logged(logrus.WarnLevel) {
		if strings.HasPrefix(line, "Master changed") {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log tells of the moves %q, want %q", got, want)
	}
}

// dialMinion connects to the bus of a minion that is starting.
func dialMinion(t *testing.T, cfg *config.Minion) *eventbus.Client {
	t.Helper()
	sockets, err := eventbus.MinionSockets(cfg.SockDir, cfg.ID, cfg.HashType)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; {
		bus, err := eventbus.Dial(t.Context(), sockets, eventbus.ClientOptions{})
		if err == nil {
			t.Cleanup(func() { bus.Close() })
			return bus
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // nothing else tells that the bus is there
	}
}

// awaitStart waits until the minion has announced itself to a master.
func (p *pair) awaitStart(t *testing.T, i int) { testsalt.AwaitEvent(t, p.events[i], startTag) }

// awaitOwn waits for an event on the minion's bus, and returns the master that it names.
func (p *pair) awaitOwn(t *testing.T, tag string) string {
	t.Helper()
	m, err := testsalt.AwaitEvent(t, p.bus, tag).Map()
	if err != nil {
		t.Fatal(err)
	}
	return m.Text("master")
}

func (p *pair) order(t *testing.T, i int, fun string, args ...any) (jid string) {
	t.Helper()
	j, err := p.masters[i].Client(t).Publish(t.Context(), client.Request{Target: "web1", Kind: "glob",
		Timeout: 10 * time.Second, Fun: fun, Arg: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(j.ID)
}

func (p *pair) awaitReturn(t *testing.T, i int, jid string) any {
	t.Helper()
	m, err := testsalt.AwaitEvent(t, p.events[i], "salt/job/"+jid+"/ret/web1").Map()
	if err != nil {
		t.Fatal(err)
	}
	return m.Value("return")
}

// run orders a job and returns its result.
func (p *pair) run(t *testing.T, i int, fun string, args ...any) any {
	t.Helper()
	return p.awaitReturn(t, i, p.order(t, i, fun, args...))
}

// TestFailover stops the master in use: the next one gets the minion, and the return of the job
// that ran meanwhile.
func TestFailover(t *testing.T) {
	p := newPair(t)
	p.startMinion(t)
	p.awaitStart(t, 0)
	if got := p.run(t, 0, "config.get", "master"); got != p.cfg.Master[0] {
		t.Errorf("option master = %v, want %s", got, p.cfg.Master[0])
	}
	jid := p.order(t, 0, "test.sleep", int64(2))
	awaitFile(t, filepath.Join(p.cfg.CacheDir, "proc", jid), true)
	p.stop(t, 0)
	if got := p.awaitOwn(t, "__master_disconnected"); got != p.cfg.Master[0] {
		t.Errorf("master %s was lost, want %s", got, p.cfg.Master[0])
	}
	p.awaitStart(t, 1)
	if got := p.awaitReturn(t, 1, jid); got != true {
		t.Errorf("the next master got the return %v", got)
	}
	for _, fun := range []string{"config.get", "grains.get"} {
		if got := p.run(t, 1, fun, "master"); got != p.cfg.Master[1] {
			t.Errorf("%s master = %v, want %s", fun, got, p.cfg.Master[1])
		}
	}
	for end := time.Now().Add(20 * time.Second); spooled(t, filepath.Dir(p.cfg.CacheDir)) != 0; {
		if time.Now().After(end) {
			t.Fatal("returns are still in the spool")
		}
		time.Sleep(2 * time.Millisecond) // files send no events
	}
	p.start(t, 0, p.masters[0].Config) // is not returned to without master_failback
	p.stop(t, 1)
	p.awaitStart(t, 0)
	a, b := p.cfg.Master[0], p.cfg.Master[1]
	p.checkMoves(t, "Master changed from "+a+" to "+b, "Master changed from "+b+" to "+a)
}

// TestHotHot has the masters as one text in the option and the grain master.
func TestHotHot(t *testing.T) {
	p := newPair(t)
	p.cfg.MasterType, p.cfg.MasterAliveInterval = "str", 0
	p.startMinion(t)
	for i := range p.masters {
		p.awaitStart(t, i)
		for _, fun := range []string{"config.get", "grains.get"} {
			if got := p.run(t, i, fun, "master"); got != p.cfg.Master[0] {
				t.Errorf("%s master, ordered by master %d = %v, want %s", fun, i, got, p.cfg.Master[0])
			}
		}
	}
}

// TestHotHotOfOtherMasters has a new minion accepted by two masters with different keys: it works
// for one of them.
func TestHotHotOfOtherMasters(t *testing.T) {
	p := newPairOf(t, func(*config.Master) {})
	p.cfg.MasterType, p.cfg.MasterAliveInterval = "str", 0
	p.startMinion(t)
	want := "the master's key is not the one this minion trusts"
	for end := time.Now().Add(20 * time.Second); !strings.Contains(
		strings.Join(p.logged(logrus.ErrorLevel), "\n"), want); {
		if time.Now().After(end) {
			t.Fatalf("no master was refused; the log:\n%s", strings.Join(p.logged(logrus.InfoLevel), "\n"))
		}
		time.Sleep(2 * time.Millisecond) // nothing else tells of it
	}
	connected := 0
	for _, line := range p.logged(logrus.InfoLevel) {
		if line == "Authentication with master successful" {
			connected++
		}
	}
	if connected > 1 {
		t.Errorf("the minion works for %d masters with different keys", connected)
	}
}

// TestFailback returns to the first master while a job of the second runs, which gets its return.
func TestFailback(t *testing.T) {
	p := newPair(t)
	p.cfg.MasterFailback, p.cfg.MasterFailbackInterval = true, time.Second
	p.stop(t, 0)
	p.startMinion(t)
	p.awaitStart(t, 1)
	jid := p.order(t, 1, "test.sleep", int64(4))
	awaitFile(t, filepath.Join(p.cfg.CacheDir, "proc", jid), true)
	p.start(t, 0, p.masters[0].Config)
	if got := p.awaitOwn(t, "__master_failback"); got != p.cfg.Master[0] {
		t.Errorf("returned to %s, want %s", got, p.cfg.Master[0])
	}
	p.awaitStart(t, 0)
	if got := p.run(t, 0, "test.ping"); got != true {
		t.Errorf("the first master got %v", got)
	}
	if got := p.awaitReturn(t, 1, jid); got != true {
		t.Errorf("the master that ordered the job got %v", got)
	}
	p.checkMoves(t, "Master changed from "+p.cfg.Master[1]+" to "+p.cfg.Master[0])
	errs := strings.Join(p.logged(logrus.ErrorLevel), "\n")
	if !strings.Contains(errs, "sign in: ") || strings.Contains(errs, "context canceled") {
		t.Errorf("the log says of the master that was away:\n%s", errs)
	}
}

// TestFailoverByEvent tells the minion to look, as status.master and status.ping_master do.
func TestFailoverByEvent(t *testing.T) {
	p := newPair(t)
	p.cfg.MasterAliveInterval = 0
	p.startMinion(t)
	p.awaitStart(t, 0)
	tell := func(tag string, i int) {
		if err := p.bus.Fire(t.Context(), tag, data.NewMap("master", p.cfg.Master[i])); err != nil {
			t.Fatal(err)
		}
	}
	tell("__master_disconnected", 0) // it is there, so that nothing happens
	tell("__master_failback", 0)
	if got := p.run(t, 0, "test.ping"); got != true {
		t.Errorf("after the false event: %v", got)
	}
	p.stop(t, 0)
	for started := make(chan struct{}); ; {
		go func() { p.awaitStart(t, 1); close(started) }()
		for {
			tell("__master_disconnected", 0) // until the minion knows of it, too
			select {
			case <-started:
			case <-time.After(100 * time.Millisecond):
				continue
			}
			break
		}
		break
	}
	p.start(t, 0, p.masters[0].Config)
	tell("__master_failback", 0)
	p.awaitStart(t, 0)
}

// A valve forwards connections to a server until it is shut. Then they stay open, and nothing goes
// through.
type valve struct {
	net.Listener
	shut atomic.Bool
}

func newValve(t *testing.T, to string) *valve {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &valve{Listener: l}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { in.Close(); out.Close() })
			go v.copy(in, out)
			go v.copy(out, in)
		}
	}()
	t.Cleanup(func() { stop(); l.Close() })
	return v
}

func (v *valve) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if v.shut.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestFailoverFromAHungMaster leaves a master whose connections stay open without an answer.
func TestFailoverFromAHungMaster(t *testing.T) {
	p := newPair(t)
	v := newValve(t, p.masters[0].Address)
	p.cfg.Master[0] = v.Addr().String()
	p.startMinion(t)
	p.awaitStart(t, 0)
	v.shut.Store(true)
	p.awaitStart(t, 1)
	if got := p.run(t, 1, "test.ping"); got != true {
		t.Errorf("the next master got %v", got)
	}
}

// TestFailoverOfRefusedMinions tries the next master after a refusal, and ends when all refuse.
func TestFailoverOfRefusedMinions(t *testing.T) {
	p := newPair(t)
	reject := func(i int) {
		t.Helper()
		dir := filepath.Join(p.masters[i].Config.PKIDir, "minions_rejected")
		body, err := os.ReadFile(filepath.Join(p.cfg.PKIDir, "minion.pub"))
		if err == nil {
			err = os.Rename(filepath.Join(p.masters[i].Config.PKIDir, "minions", "web1"), filepath.Join(dir, "web1"))
		}
		if errors.Is(err, os.ErrNotExist) && body != nil {
			err = os.WriteFile(filepath.Join(dir, "web1"), body, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p.startMinion(t)
	p.awaitStart(t, 0)
	if err := p.minion.Stop(); err != nil {
		t.Fatal(err)
	}
	reject(0)
	p.bus.Close()
	p.startMinion(t)
	p.awaitStart(t, 1)
	if err := p.minion.Stop(); err != nil {
		t.Fatal(err)
	}
	reject(1)
	o := testsalt.MinionOptions(t, p.cfg)
	m, err := minion.New(t.Context(), p.cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context(), func() {}); !errors.Is(err, channel.ErrRejected) ||
		!strings.Contains(err.Error(), p.cfg.Master[0]) || !strings.Contains(err.Error(), p.cfg.Master[1]) {
		t.Errorf("Run = %v, want the refusals of both masters", err)
	}
}

// TestDistributed checks the choice of the first master against zlib.crc32 of Python.
func TestDistributed(t *testing.T) {
	for id, want := range map[string]int{"web1": 1, "db": 0, "m5": 0, "xy": 1} {
		p := newPair(t)
		p.cfg.MasterType, p.cfg.ID = "distributed", id
		p.startMinion(t)
		testsalt.AwaitEvent(t, p.events[want], "salt/minion/"+id+"/start")
		if err := p.minion.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMasterFunction takes the masters from a function.
func TestMasterFunction(t *testing.T) {
	p := newPair(t)
	start := func(value any) error {
		p.cfg.MasterType, p.cfg.Master = "func", []string{"whereis.master"}
		o := testsalt.MinionOptions(t, p.cfg)
		o.Plugins = append(slices.Clone(o.Plugins), loader.Plugin{Name: "whereis",
			New: func(*loader.Env) (*loader.Module, error) {
				return &loader.Module{Funcs: []loader.Func{loader.F("master",
					func(context.Context, struct{}) (any, error) { return value, nil })}}, nil
			}})
		m, err := minion.New(t.Context(), p.cfg, o)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx, func() {}) }()
		for i := range p.masters {
			if _, several := value.([]any); several || i == 1 {
				p.awaitStart(t, i)
			}
		}
		stop()
		return <-done
	}
	for _, value := range []any{p.masters[1].Address, []any{p.masters[0].Address, p.masters[1].Address}} {
		if err := start(value); err != nil {
			t.Errorf("with %v: %v", value, err)
		}
	}
	for _, tt := range []struct {
		value any
		want  string
	}{
		{int64(1), "ask whereis.master for the masters: it has returned 1, which is neither a text nor a list of texts"},
		{[]any{}, "whereis.master has returned []: master: no master is set; write master: ADDRESS"},
		{"a/b", "whereis.master has returned 'a/b': master: "},
	} {
		if err := start(tt.value); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("with %v: %v, want %s", tt.value, err, tt.want)
		}
	}
	p.cfg.Master = []string{"nosuch.func"}
	_, err := minion.New(t.Context(), p.cfg, testsalt.MinionOptions(t, p.cfg))
	var about *config.About
	if !errors.As(err, &about) || about.Option != "master" ||
		about.Error() != "ask nosuch.func for the masters: 'nosuch.func' is not available" {
		t.Errorf("with a function that is missing: %v", err)
	}
	p.cfg.MasterType, p.cfg.Master = "", []string{"a, b:4506"}
	if err := minion.CheckMasters(p.cfg); err == nil ||
		!strings.Contains(err.Error(), "as a list: [a, b:4506]") {
		t.Errorf("CheckMasters of a list without brackets = %v", err)
	}
	p.cfg.MasterType, p.cfg.Master = "func", []string{"a"}
	if err := minion.CheckMasters(p.cfg); err == nil || !strings.Contains(err.Error(), "write MODULE.FUNCTION") {
		t.Errorf("CheckMasters = %v", err)
	}
}
