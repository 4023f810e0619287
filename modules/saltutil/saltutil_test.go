package saltutil

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/payload"
)

// fake is a minion around the module.
type fake struct {
	*loader.Registry
	dir     string
	running []*data.Map
	fired   []string
	signals []string
	asked   []string // loads for the masters
}

// newFake returns the module in a daemon.
func newFake(t *testing.T, more ...loader.Plugin) *fake {
	t.Helper()
	f := &fake{dir: t.TempDir()}
	f.Registry = f.registry(t, loader.Host{Jobs: f, Bus: f, Masters: asked{fake: f}}, more...)
	return f
}

func (f *fake) Running() []*data.Map { return f.running }

func (f *fake) Signal(jid string, sig os.Signal, ends bool) bool {
	f.signals = append(f.signals, jid+" "+strconv.Itoa(int(sig.(syscall.Signal)))+" "+
		strconv.FormatBool(ends))
	return jid != "gone"
}

func (f *fake) Fire(_ context.Context, tag string, body *data.Map) error {
	f.fired = append(f.fired, tag+" "+data.Repr(body))
	return nil
}

func (f *fake) Await(_ context.Context, tag string, act func() error) (*data.Map, error) {
	if err := act(); err != nil {
		return nil, err
	}
	f.fired = append(f.fired, "waited for "+tag)
	return data.NewMap("complete", true), nil
}

// asked records requests to the masters of a fake.
type asked struct {
	loader.Masters // methods that the tests do not call
	fake           *fake
}

func (a asked) RequestAll(_ context.Context, load *data.Map) error {
	a.fake.asked = append(a.fake.asked, data.Repr(load))
	if data.Truth(load.Value("preserve_minion_cache")) {
		return context.DeadlineExceeded
	}
	return nil
}

func (f *fake) registry(t *testing.T, host loader.Host, more ...loader.Plugin) *loader.Registry {
	t.Helper()
	opts := data.NewMap("cachedir", f.dir, "id", "web1", "sock_dir", filepath.Join(f.dir, "run"),
		"pki_dir", filepath.Join(f.dir, "pki"), "extension_modules", filepath.Join(f.dir,
			"extmods"), "file_client", "remote", "conf_file", filepath.Join(f.dir, "minion"))
	r, err := loader.NewRegistry(&loader.Env{Opts: opts, Host: host}, append(more, Plugin()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call calls a function as a job and returns the result in Python's form.
func call(t *testing.T, r *loader.Registry, fun string, argv ...string) string {
	t.Helper()
	res := r.Call(t.Context(), "saltutil."+fun, loader.WireArgs(argv),
		loader.CallOptions{Pub: data.NewMap("jid", "me", "fun", "saltutil."+fun)})
	return data.Repr(res.Value)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s gives\n%s\nwant\n%s", what, got, want)
	}
}

func load(jid, fun string) *data.Map {
	return data.NewMap("jid", jid, "fun", fun, "pid", int64(os.Getpid()))
}

func TestVectorSaltutil(t *testing.T) {
	ran := 0
	for _, c := range vectors.Load(t, "10-cli.json").Section("modules") {
		argv := c.List("argv")
		fun, ok := strings.CutPrefix(argv[1].(string), "saltutil.")
		if !ok {
			continue // of another module
		}
		ran++
		t.Run(fun, func(t *testing.T) {
			c := c.On(t)
			c.Only("program", "argv", "exit_code", "stdout", "stderr", "volatile", "seq", "python_traceback")
			if fun == "running" { // the golden is of the outputter key, which fails
				expect(t, fun, call(t, newFake(t).Registry, fun), "[]")
				return
			}
			res := newFake(t).Call(t.Context(), argv[1].(string), argv[2:], loader.CallOptions{})
			text, err := output.Printout(output.Choice{Asked: res.Out, Fun: fun},
				data.NewMap("web1", res.Value), output.Options{Indent: output.NoIndent{}})
			if err != nil || strings.TrimRight(text, "\n") != strings.TrimRight(c.Text("stdout"), "\n") {
				t.Errorf("prints %q, %v, want %q", text, err, c.Text("stdout"))
			}
		})
	}
	if ran != 4 {
		t.Errorf("ran %d cases of saltutil, want 4", ran)
	}
}

func TestJobsOfTheDaemon(t *testing.T) {
	f := newFake(t)
	f.running = []*data.Map{load("20", "test.sleep"), load("me", "saltutil.running"),
		load("21", "state.apply"), load("gone", "cmd.run")}
	f.running[2].Set("fun", []any{"test.ping", "state.highstate"})
	pid := strconv.Itoa(os.Getpid())
	for _, tt := range [][2]string{
		{"running", data.Repr([]any{f.running[0], f.running[2], f.running[3]})},
		{"is_running state.*", data.Repr([]any{f.running[2]})},
		{"is_running test.sleep", data.Repr([]any{f.running[0]})},
		{"is_running nosuch", "[]"},
		{"find_job 20", data.Repr(f.running[0])},
		{"find_job me", "{}"},
		{"find_job 99", "{}"},
		{"signal_job 99 9", "''"},
		{"signal_job 20 10", "'Signal 10 sent to job 20 at pid " + pid + "'"},
		{"term_job 21", "'Signal 15 sent to job 21 at pid " + pid + "'"},
		{"kill_job gone", "'Job gone was not running and job data has been cleaned up'"},
		{"term_all_jobs", "['Signal 15 sent to job 20 at pid " + pid +
			"', 'Signal 15 sent to job 21 at pid " + pid +
			"', 'Job gone was not running and job data has been cleaned up']"},
		{"kill_all_jobs", "['Signal 9 sent to job 20 at pid " + pid +
			"', 'Signal 9 sent to job 21 at pid " + pid +
			"', 'Job gone was not running and job data has been cleaned up']"},
	} {
		words := strings.Fields(tt[0])
		expect(t, tt[0], call(t, f.Registry, words[0], words[1:]...), tt[1])
	}
	expect(t, "signals", strings.Join(f.signals, ", "),
		"20 10 false, 21 15 true, gone 9 true, 20 15 true, 21 15 true, gone 15 true, 20 9 true, 21 9 true, gone 9 true")
}

// file writes a job file to proc.
func (f *fake) file(t *testing.T, name string, body []byte, old bool) string {
	t.Helper()
	path := filepath.Join(f.dir, "proc", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if old {
		when := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func (f *fake) jobFile(t *testing.T, jid string, pid int, more ...any) string {
	t.Helper()
	load := data.NewMap("jid", jid, "fun", "test.sleep", "pid", int64(pid))
	load.Update(data.NewMap(more...))
	body, err := payload.Marshal(load)
	if err != nil {
		t.Fatal(err)
	}
	return f.file(t, jid, body, false)
}

// saltProcess starts a process with a child and with the word salt in its command line. It returns
// both.
func saltProcess(t *testing.T) (pid, child int, ended chan error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 600 & echo $!; wait; : salt")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 32)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	if child, err = strconv.Atoi(strings.TrimSpace(string(line[:n]))); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(child, syscall.SIGKILL)
		_ = cmd.Process.Kill()
	})
	return cmd.Process.Pid, child, ended
}

func left(t *testing.T, f *fake) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.dir, "proc"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestJobsInProc(t *testing.T) {
	f := newFake(t)
	pid, _, _ := saltProcess(t)
	f.jobFile(t, "1", pid)
	f.jobFile(t, "2", os.Getpid()) // this process tells of its jobs itself
	f.jobFile(t, "3", 1<<30)       // no such process
	f.jobFile(t, "4", 1)           // no process of Salt
	f.file(t, "5", nil, true)
	f.file(t, "6", []byte("\x81damaged"), true)
	f.file(t, "7", []byte("\x81being written"), false)
	f.file(t, "8", []byte("\x90"), true) // no map
	want := "[{'jid': '1', 'fun': 'test.sleep', 'pid': " + strconv.Itoa(pid) + "}]"
	for range 2 {
		expect(t, "running", call(t, f.Registry, "running"), want)
		expect(t, "proc", left(t, f), "1 2 7")
	}
	expect(t, "find_job", call(t, f.Registry, "find_job", "1"), want[1:len(want)-1])
}

func TestSignalReachesProcessAndChildren(t *testing.T) {
	f := newFake(t)
	pid, child, ended := saltProcess(t)
	f.jobFile(t, "1", pid)
	expect(t, "kill_job", call(t, f.registry(t, loader.Host{}), "kill_job", "1"),
		"'Signal 9 sent to job 1 at pid "+strconv.Itoa(pid)+"'")
	<-ended
	for end := time.Now().Add(10 * time.Second); parentIs(child, pid) || alive(int64(child)); {
		if time.Now().After(end) {
			t.Fatal("the child of the job's process lives")
		}
		time.Sleep(time.Millisecond) // the end of a foreign process has no event
	}
	expect(t, "running", call(t, f.Registry, "running"), "[]")
	expect(t, "proc", left(t, f), "")
	if len(f.signals) > 0 {
		t.Errorf("the daemon was asked to signal: %v", f.signals)
	}
}

func parentIs(pid, parent int) bool { return parents()[int64(pid)] == int64(parent) }

// startBus runs a minion's bus that salt-call finds, and returns it.
func startBus(t *testing.T, dir string) *eventbus.Bus {
	t.Helper()
	sockets, err := eventbus.MinionSockets(filepath.Join(dir, "run"), "web1", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	bus := eventbus.New(eventbus.Options{})
	ctx, stop := context.WithCancel(context.Background())
	ready := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		if err := bus.Serve(ctx, sockets,
			eventbus.ServeOptions{Ready: func() { close(ready) }}); err != nil && ctx.Err() == nil {
			t.Errorf("bus: %v", err)
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
	<-ready
	return bus
}

// replyTo calls do for each event with a tag.
func replyTo(t *testing.T, bus *eventbus.Bus, tag string, do func(body *data.Map)) {
	t.Helper()
	sub := bus.Subscribe(eventbus.SubscribeOptions{Prefixes: []string{tag}})
	var done sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); done.Wait(); sub.Close() })
	done.Go(func() {
		for event := range sub.All(ctx) {
			body, err := event.Map()
			if err != nil {
				t.Error(err)
				return
			}
			do(body)
		}
	})
}

func TestSaltCallAsksTheMinionToSignal(t *testing.T) {
	f := newFake(t)
	pid, _, ended := saltProcess(t)
	f.jobFile(t, "1", pid, "multiprocessing", false)
	f.jobFile(t, "2", pid, "multiprocessing", false)
	bus := startBus(t, f.dir)
	replyTo(t, bus, signalAsked, func(body *data.Map) {
		jid := body.Text("jid")
		if body.Value("signal") != int64(15) || body.Value("ends") != true {
			t.Errorf("asked %s", data.Repr(body))
		}
		if err := bus.Fire(signalDone+"/"+jid, data.NewMap("running", jid == "1")); err != nil {
			t.Error(err)
		}
	})
	r := f.registry(t, loader.Host{})
	expect(t, "running", call(t, r, "find_job", "1"), "{'jid': '1', 'fun': 'test.sleep', 'pid': "+
		strconv.Itoa(pid)+"}")
	expect(t, "term_job 1", call(t, r, "term_job", "1"), "'Signal 15 sent to job 1 at pid "+
		strconv.Itoa(pid)+"'")
	expect(t, "term_job 2", call(t, r, "term_job", "2"),
		"'Job 2 was not running and job data has been cleaned up'")
	expect(t, "proc", left(t, f), "1")
	select {
	case <-ended:
		t.Error("the minion itself was ended")
	default:
	}
}

func TestSaltCallLeavesAMinionWithoutBusAlone(t *testing.T) {
	f := newFake(t)
	pid, _, ended := saltProcess(t)
	f.jobFile(t, "1", pid)
	if err := os.WriteFile(filepath.Join(f.dir, "minion.pid"), []byte(strconv.Itoa(pid)+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	r := f.registry(t, loader.Host{})
	r.Env().Opts.Set("pidfile", filepath.Join(f.dir, "minion.pid"))
	expect(t, "kill_job", call(t, r, "kill_job", "1"),
		"'ERROR: cannot signal job 1: the minion with the process id "+strconv.Itoa(pid)+
			" does not answer on its event bus'")
	select {
	case <-ended:
		t.Error("the minion itself was killed")
	default:
	}
}

func TestRefresh(t *testing.T) {
	tests := []struct{ call, result, fired string }{
		{"refresh_pillar", "True", "pillar_refresh {'clean_cache': True}"},
		{"pillar_refresh clean_cache=False", "True", "pillar_refresh {'clean_cache': False}"},
		{"refresh_pillar wait=True timeout=1", "True",
			"pillar_refresh {'clean_cache': True}, waited for " + pillarRefreshed},
		{"refresh_modules", "True", "module_refresh {}"},
		{"refresh_modules async=False", "True", "module_refresh {'notify': True}, waited for " +
			modulesRefreshed},
		{"refresh_grains", "True", "pillar_refresh {'clean_cache': False}"},
		{"refresh_grains refresh_pillar=False", "True", "module_refresh {}"},
		{"refresh_grains clean_pillar_cache=True", "True", "pillar_refresh {'clean_cache': True}"},
		{"refresh_grains foo=1 bar=x",
			`"ERROR executing 'saltutil.refresh_grains': The following keyword arguments are not valid: foo=1, bar=x"`, ""},
		{"refresh_beacons", "True", "beacons_refresh {}"},
		{"refresh_matchers", "True", "matchers_refresh {}"},
		{"sync_modules", "[]", "module_refresh {}"},
		{"sync_modules refresh=False", "[]", ""},
		{"sync_engines", "[]", ""},
		{"sync_engines refresh=True", "[]", "module_refresh {}"},
		{"sync_beacons", "[]", "beacons_refresh {}"},
		{"sync_grains", "[]", "pillar_refresh {'clean_cache': False}"},
		{"sync_grains clean_pillar_cache=True", "[]", "pillar_refresh {'clean_cache': True}"},
		{"sync_all refresh=False clean_pillar_cache=True", "{'clouds': [], 'beacons': [], 'modules': [], 'states': [], 'sdb': [], " +
			"'grains': [], 'renderers': [], 'returners': [], 'output': [], 'utils': [], 'log_handlers': [], 'executors': [], " +
			"'proxymodules': [], 'engines': [], 'thorium': [], 'serializers': [], 'matchers': []}", ""},
		{"sync_outputters", "[]", "module_refresh {}"},
		{"sync_sdb", "[]", ""},
		{"sync_pillar", "'ERROR: Pillar modules can only be synced to masterless minions'", ""},
		{"sync_all", "{'clouds': [], 'beacons': [], 'modules': [], 'states': [], 'sdb': [], 'grains': [], 'renderers': [], 'returners': [], " +
			"'output': [], 'utils': [], 'log_handlers': [], 'executors': [], 'proxymodules': [], 'engines': [], 'thorium': [], " +
			"'serializers': [], 'matchers': []}", "pillar_refresh {'clean_cache': False}"},
	}
	for _, tt := range tests {
		t.Run(tt.call, func(t *testing.T) {
			f, words := newFake(t), strings.Fields(tt.call)
			expect(t, tt.call, call(t, f.Registry, words[0], words[1:]...), tt.result)
			expect(t, "the bus", strings.Join(f.fired, ", "), tt.fired)
		})
	}
}

func TestRefreshFromSaltCall(t *testing.T) {
	f := newFake(t)
	r := f.registry(t, loader.Host{})
	for _, fun := range []string{"refresh_pillar", "refresh_modules", "refresh_beacons", "refresh_matchers"} {
		expect(t, fun+" without a minion", call(t, r, fun), "False")
	}
	expect(t, "refresh_pillar without a minion",
		call(t, r, "refresh_pillar", "wait=True", "timeout=1"), "False")
	expect(t, "refresh_grains without a minion", call(t, r, "refresh_grains"), "True")
	bus := startBus(t, f.dir)
	var got []string
	var mu sync.Mutex
	replyTo(t, bus, "pillar_refresh", func(body *data.Map) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, data.Repr(body.Value("clean_cache")))
		if err := bus.Fire(pillarRefreshed, data.NewMap("complete", true)); err != nil {
			t.Error(err)
		}
	})
	expect(t, "refresh_pillar", call(t, r, "refresh_pillar", "wait=True", "timeout=30"), "True")
	mu.Lock()
	defer mu.Unlock()
	expect(t, "the bus", strings.Join(got, " "), "True")
}
