package python_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/python"
)

// A daemon is a registry with Python modules, as a minion has it.
type daemon struct {
	functions *loader.Registry
	host      *python.Host
	dir       string // of the modules
	log       *buffer
}

// A buffer is what a daemon logs.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newDaemon returns a registry with the built-in module echo and the given Python modules, by name.
// The name of a helper is ../utils/NAME.
func newDaemon(t testing.TB, modules map[string]string, options ...func(*python.Options)) *daemon {
	t.Helper()
	d := &daemon{dir: filepath.Join(t.TempDir(), "modules")}
	d.write(t, modules)
	d.start(t, t.TempDir(), options...)
	t.Cleanup(func() {
		if err := d.host.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// write writes Python modules by name.
func (d *daemon) write(t testing.TB, modules map[string]string) {
	t.Helper()
	for name, text := range modules {
		path := filepath.Join(d.dir, name+".py")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// start makes the host and the registry of a daemon.
func (d *daemon) start(t testing.TB, cache string, options ...func(*python.Options)) {
	t.Helper()
	need.Program(t, "python3")
	d.log = &buffer{}
	log := logrus.New()
	log.SetOutput(d.log)
	o := python.Options{CacheDir: cache, Daemon: true, Log: log,
		Directories: func() map[string][]string {
			return map[string][]string{"modules": {d.dir}, "utils": {filepath.Join(d.dir, "../utils")}}
		}}
	for _, set := range options {
		set(&o)
	}
	d.host = python.NewHost(o)
	type echoArgs struct{ Value any }
	listed := []loader.Plugin{{Name: "echo", New: func(env *loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("echo", func(_ context.Context, a echoArgs) (any, error) { return a.Value, nil }),
			loader.F("call", func(ctx context.Context, a echoArgs) (any, error) {
				return env.Call(ctx, data.Str(a.Value), nil, nil)
			}),
			loader.F("fail", func(_ context.Context, a echoArgs) (any, error) {
				return nil, loader.Execution("%s", data.Str(a.Value))
			}),
		}}, nil
	}}}
	functions, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "m1"), Log: log}, listed)
	if err != nil {
		t.Fatal(err)
	}
	functions.Extend(d.host.Files("modules", functions.Env(), listed))
	d.functions = functions
}

// job calls a function in a job of its own and returns its result as Python prints it, or the error.
func (d *daemon) job(t testing.TB, fun string, args ...any) string {
	t.Helper()
	j := d.begin(t)
	defer j.end()
	return j.call(fun, args...)
}

// A job is one under way.
type job struct {
	t      testing.TB
	daemon *daemon
	ctx    context.Context
	scope  *loader.Scope
}

func (d *daemon) begin(t testing.TB) *job {
	ctx, scope := loader.WithScope(loader.WithContext(t.Context(), &loader.Context{}))
	return &job{t, d, ctx, scope}
}

func (j *job) call(fun string, args ...any) string {
	v, err := j.daemon.functions.Invoke(j.ctx, fun, args, nil)
	if err != nil {
		return "error: " + err.Error()
	}
	return data.Repr(v)
}

func (j *job) end() {
	j.t.Helper()
	if err := j.scope.Close(); err != nil {
		j.t.Error(err)
	}
}

func (d *daemon) want(t testing.TB, want, fun string, args ...any) {
	t.Helper()
	if got := d.job(t, fun, args...); got != want {
		t.Errorf("%s%v = %s, want %s", fun, args, got, want)
	}
}

// TestValuesCrossUnchanged sends values to Python and back.
func TestValuesCrossUnchanged(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `
def echo(value):
    return value

def through(value):
    return __salt__["echo.echo"](value)
`})
	for _, v := range []any{nil, true, int64(1) << 40, -1.5, "grüß", []byte("\xff\x00"), []any{int64(1), "a"},
		data.Tuple{int64(1), data.Tuple{}}, data.NewMap("z", int64(1), "a", data.NewMap(int64(2), nil)),
		data.Set{"x"}, time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)} {
		d.want(t, data.Repr(v), "own.echo", v)
		d.want(t, data.Repr(v), "own.through", v)
	}
}

// TestJobsAreIsolated checks that nothing that a plug-in leaves behind reaches the next job.
func TestJobsAreIsolated(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `
import os, signal, sys

SEEN = []

def leave():
    SEEN.append(1)
    __context__["n"] = 1
    os.environ["LEFT"] = "1"
    os.chdir("/tmp")
    sys.path.insert(0, "/left")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.umask(0o123)
    return look()

def look():
    return [len(SEEN), __context__.get("n"), os.environ.get("LEFT"), os.getcwd(), "/left" in sys.path,
            signal.getsignal(signal.SIGTERM) == signal.SIG_IGN, os.umask(0o77) == 0o123]
`})
	clean := "[0, None, None, '/', False, False, False]"
	d.want(t, clean, "own.look")
	d.want(t, "[1, 1, '1', '/tmp', True, True, True]", "own.leave")
	d.want(t, clean, "own.look")
}

// TestKilledJobEnds checks that the end of a job's context ends a function that never returns, and
// the programs that it started.
func TestKilledJobEnds(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `
import subprocess, time

def hang(path):
    child = subprocess.Popen(["sleep", "1000"])
    with open(path + ".new", "w") as file:
        file.write(str(child.pid))
    import os
    os.rename(path + ".new", path)
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            pass

def ok():
    return "right"
`})
	stopped := errors.New("the job was killed")
	ctx, cancel := context.WithCancelCause(t.Context())
	ctx, scope := loader.WithScope(ctx)
	file := filepath.Join(t.TempDir(), "pid")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(file); err == nil {
				cancel(stopped)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := d.functions.Invoke(ctx, "own.hang", []any{file}, nil)
	if !errors.Is(err, stopped) {
		t.Errorf("hang = %v, want %v", err, stopped)
	}
	if err := scope.Close(); err != nil {
		t.Error(err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for by := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		state, err := os.ReadFile("/proc/" + string(pid) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			break
		}
		if time.Now().After(by) {
			t.Fatal("the program that the function started still runs")
		}
	}
	d.want(t, "'right'", "own.ok")
}

// TestErrorsKeepTheirClass checks that exceptions arrive as themselves on both sides.
func TestErrorsKeepTheirClass(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `
from salt.exceptions import CommandExecutionError

def raises():
    raise ValueError("odd")

def catches():
    try:
        __salt__["echo.fail"]("broke")
    except CommandExecutionError as exc:
        return "caught " + str(exc)

def missing():
    try:
        __salt__["no.such"]
    except KeyError as exc:
        return "missing " + str(exc)
`})
	d.want(t, "'caught broke'", "own.catches")
	d.want(t, `"missing 'no.such'"`, "own.missing")
	ctx, scope := loader.WithScope(t.Context())
	defer scope.Close()
	_, err := d.functions.Invoke(ctx, "own.raises", nil, nil)
	text := loader.Traceback(err)
	if loader.KindOf(err) != loader.KindException || !strings.Contains(text, "own.py\", line 5, in raises") ||
		!strings.HasSuffix(text, "ValueError: odd\n") || strings.Contains(text, "brinehost") {
		t.Errorf("raises = %v\n%s", err, text)
	}
}

// TestErrorsNameTheirModule checks the last line of tracebacks against that of Salt 3006.18.
func TestErrorsNameTheirModule(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `
import json
import salt.exceptions

class Own(Exception):
    pass

class Outer:
    class Inner(ValueError):
        pass

def own():
    raise Own("x")

def inner():
    raise Outer.Inner("y")

def library():
    raise salt.exceptions.SaltRenderError("z")

def standard():
    json.loads("{")

def builtin():
    {}["k"]
`})
	for function, want := range map[string]string{
		"own":     "salt.loaded.ext.module.own.Own: x",
		"inner":   "salt.loaded.ext.module.own.Outer.Inner: y",
		"library": "salt.exceptions.SaltRenderError: z",
		"standard": "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: " +
			"line 1 column 2 (char 1)",
		"builtin": "KeyError: 'k'",
	} {
		_, err := d.functions.Invoke(t.Context(), "own."+function, nil, nil)
		lines := strings.Split(strings.TrimSpace(loader.Traceback(err)), "\n")
		if got := lines[len(lines)-1]; got != want {
			t.Errorf("own.%s ends with %q, want %q", function, got, want)
		}
	}
}

// TestFilesAreLoadedAgain checks that a changed file counts after the registry has reloaded.
func TestFilesAreLoadedAgain(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": "def f():\n    return __file__\n"})
	path := strings.Trim(d.job(t, "own.f"), "'")
	if err := os.WriteFile(path, []byte("def f():\n    return 'second'\n\ndef g():\n    return 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.functions.Reload()
	d.want(t, "'second'", "own.f")
	d.want(t, "1", "own.g")
}

// TestFilesChangeDuringAJob checks that a job whose function has synchronised files sees the new
// ones, and that files of the same size and second are told apart.
func TestFilesChangeDuringAJob(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": "def f():\n    return 1\n"})
	j := d.begin(t)
	defer j.end()
	if got := j.call("own.f"); got != "1" {
		t.Errorf("own.f = %s", got)
	}
	d.write(t, map[string]string{"own": "def f():\n    return 2\n", "more": "def f():\n    return __salt__['own.f']()\n"})
	d.functions.Reload()
	for _, fun := range []string{"own.f", "more.f"} {
		if got := j.call(fun); got != "2" {
			t.Errorf("%s = %s after a change, want 2", fun, got)
		}
	}
}

// TestUnableOperationsSaySo uses the library where no master and no minion lends it anything.
func TestUnableOperationsSaySo(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `
import salt.client
import salt.pillar
import salt.utils.event
import salt.utils.minions

def order():
    return salt.client.LocalClient().cmd("*", "test.ping")

def fire():
    return salt.utils.event.get_master_event(__opts__, "/none", listen=False).fire_event({}, "a/b")

def wait():
    return salt.utils.event.get_event("minion", sock_dir="/none").get_event(wait=0.01)

def pillar():
    return salt.pillar.get_pillar(__opts__, {}, "m2").compile_pillar()

def match():
    return salt.utils.minions.CkMinions(__opts__).check_minions("*")
`})
	for fun, want := range map[string]string{
		"own.order":  "error: this program cannot send jobs to minions: it knows no master on this host",
		"own.fire":   "error: this program cannot fire events on a master: it is connected to none",
		"own.wait":   "error: connect to event socket: dial unix /none/minion_event_",
		"own.pillar": "error: this program cannot compile the pillar of minion m2: only a master can",
		"own.match":  "error: this program cannot match minions: only a master can",
	} {
		if got := d.job(t, fun); !strings.HasPrefix(got, want) {
			t.Errorf("%s = %s, want %s", fun, got, want)
		}
	}
}
