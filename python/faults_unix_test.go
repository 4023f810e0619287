//go:build unix

package python_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
)

// faulty is a module whose functions do what plug-ins should not.
const faulty = `
import os, signal, sys, threading, time

def ok():
    return "right"

def leaves_at_once():
    os._exit(3)

def aborts():
    os.abort()

def faults():
    try:
        import ctypes
    except ImportError:
        os.kill(os.getpid(), signal.SIGSEGV)
    ctypes.string_at(0)

def exits():
    sys.exit(4)

def interrupts():
    raise KeyboardInterrupt("stop")

def recurses():
    return recurses()

def recurses_through_brine():
    return __salt__["echo.call"]("own.recurses_through_brine")

def recurses_without_limit():
    sys.setrecursionlimit(1 << 30)
    return __salt__["echo.call"]("own.recurses_without_limit")

def objects():
    return [object, {1, 2}, {"f": os.getcwd}]

def cyclic():
    value = []
    value.append(value)
    return value

def nests():
    value = []
    for _ in range(100000):
        value = [value]
    return value

class Silent:
    def __repr__(self):
        raise ValueError("no")

def silent():
    return Silent()

class Mute(Exception):
    def __str__(self):
        raise ValueError("no")

def mute():
    raise Mute()

def closes():
    os.closerange(3, 256)

def closes_streams():
    for fd in range(3):
        os.close(fd)
    sys.stdout = sys.stderr = None
    return "closed"

def prints():
    print("first line")
    sys.stderr.write("second line\n")
    os.system("echo third line")
    return "printed"

def reads():
    return sys.stdin.read() + "|"

def threads():
    found = []

    def work(n):
        for i in range(30):
            value = (n, i)
            if __salt__["echo.echo"](value) != value:
                found.append("wrong")
        found.append(n)

    all_ = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in all_:
        thread.start()
    for thread in all_:
        thread.join()
    return sorted(found)

def threads_in_a_call():
    return __salt__["echo.call"]("own.threads")

def leaves_a_thread():
    def work():
        while True:
            __salt__["echo.echo"](1)
            time.sleep(0.001)

    threading.Thread(target=work).start()
    return "left"

class Stop(Exception):
    pass

def is_interrupted():
    def stop(*_):
        raise Stop()

    signal.signal(signal.SIGALRM, stop)
    for n in range(50):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0001 * (n + 1))
            while True:
                if __salt__["echo.echo"](n) != n:
                    return "wrong"
        except Stop:
            pass
    return "stopped"

def forks_twice():
    os.fork()
    return "both"

def forks_and_raises():
    if os.fork() == 0:
        raise ValueError("in the child")
    os.wait()
    return "parent"

def forked_calls():
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            __salt__["echo.echo"](1)
        except RuntimeError as exc:
            os.write(write, str(exc).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        return file.read()
`

// TestFaultsCostTheirJob checks what each kind of fault returns, and that the next job is right.
func TestFaultsCostTheirJob(t *testing.T) {
	need.Time(t, "many processes")
	d := newDaemon(t, map[string]string{"own": faulty,
		"broken": "def f(:\n", "exits": "import sys\nsys.exit(5)\n", "aborts": "import os\nos.abort()\n"})
	for _, tt := range []struct{ name, fun, want string }{
		{"ends its process", "own.leaves_at_once", "error: the Python process ended: exit status 3"},
		{"aborts", "own.aborts", "error: the Python process ended: signal: abort"},
		{"segmentation fault", "own.faults", "error: the Python process ended: signal: segmentation fault"},
		{"sys.exit", "own.exits", "error: SystemExit: 4"},
		{"KeyboardInterrupt", "own.interrupts", "error: stop"},
		{"recursion", "own.recurses", "error: maximum recursion depth exceeded"},
		{"recursion through Brine", "own.recurses_through_brine", "error: maximum recursion depth exceeded"},
		{"recursion without a limit", "own.recurses_without_limit", "error: calls between Salt and Python nest deeper than 1000"},
		{"objects", "own.objects", "[<class 'object'>, {1, 2}, {'f': <built-in function getcwd>}]"},
		{"cyclic value", "own.cyclic", "error: the value nests deeper than 500"},
		{"deep value", "own.nests", "error: the value nests deeper than 500"},
		{"value without repr", "own.silent", "<salt.loaded.ext.module.own.Silent whose repr() failed: ValueError>"},
		{"exception without text", "own.mute", "error: <exception str() failed: ValueError>"},
		{"closes descriptors", "own.closes", "error: the Python process ended"},
		{"closes standard streams", "own.closes_streams", "'closed'"},
		{"prints", "own.prints", "'printed'"},
		{"reads standard input", "own.reads", "'|'"},
		{"threads call functions", "own.threads", "[0, 1, 2, 3, 4, 5]"},
		{"threads in a nested call", "own.threads_in_a_call", "[0, 1, 2, 3, 4, 5]"},
		{"leaves a thread", "own.leaves_a_thread", "'left'"},
		{"signal handler raises", "own.is_interrupted", "'stopped'"},
		{"returns in two processes", "own.forks_twice", "'both'"},
		{"raises in a forked process", "own.forks_and_raises", "'parent'"},
		{"calls from a forked process", "own.forked_calls",
			`"Salt's functions cannot be called in a process that a plug-in has forked"`},
		{"file with a syntax error", "broken.f", "error: 'broken.f'"},
		{"file that exits", "exits.f", "error: 'exits.f'"},
		{"file that aborts", "aborts.f", "error: 'aborts.f'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := d.job(t, tt.fun); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s = %.300s, want %s…", tt.fun, got, tt.want)
			}
			d.want(t, "'right'", "own.ok")
		})
	}
	if got := d.functions.MissingText("aborts.f"); !strings.Contains(got, "the Python process ended: signal: abort") {
		t.Errorf("reason of a file that aborts: %s", got)
	}
}

// TestWhatIsLeftRunningGoesOn checks that a process which a function has left behind on purpose
// outlives the job, as under Salt.
func TestWhatIsLeftRunningGoesOn(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `
import os, subprocess, time

def starts(go, done):
    subprocess.Popen(["sh", "-c", "while ! test -e $0; do sleep 0.01; done; echo 1 >$1", go, done])
    return "started"

def forks(go, done):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while not os.path.exists(go):
                time.sleep(0.01)
            open(done, "w").close()
        os._exit(0)
    return "started"
`})
	for _, fun := range []string{"own.starts", "own.forks"} {
		dir := t.TempDir()
		d.want(t, "'started'", fun, filepath.Join(dir, "go"), filepath.Join(dir, "done"))
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		waitFor(t, fun+": the process that was left works", func() bool {
			_, err := os.Stat(filepath.Join(dir, "done"))
			return err == nil
		})
	}
}

// waitFor waits until a condition holds.
func waitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for by := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(by) {
			t.Fatalf("not so after 20 s: %s", what)
		}
	}
}

// TestBrokenWorkersAreEnded checks that calls which kill their worker leave neither files nor
// processes, within a job.
func TestBrokenWorkersAreEnded(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": "import os\n\ndef die():\n    os._exit(3)\n\ndef fine():\n    return 1\n"})
	j := d.begin(t)
	j.call("own.die")
	before := openFiles(t)
	for range 50 {
		j.call("own.die")
	}
	if after := openFiles(t); after > before+5 {
		t.Errorf("after 50 broken workers %d files are open, before %d", after, before)
	}
	if got := j.call("own.fine"); got != "1" {
		t.Errorf("a later call of the job: %s", got)
	}
	j.end()
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
