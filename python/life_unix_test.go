//go:build unix

package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/python"
)

// living is a module that says which processes there are.
const living = `
import os, subprocess, time

def worker():
    return str(os.getpid())

def template():
    return str(os.getppid())

def hang(path):
    child = subprocess.Popen(["sleep", "1000"])
    with open(path + ".new", "w") as file:
        file.write("%d %d %d" % (os.getppid(), os.getpid(), child.pid))
    os.rename(path + ".new", path)
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            pass
`

// isGone reports whether a process has ended.
func isGone(pid string) bool {
	n, err := strconv.Atoi(strings.Trim(pid, "'"))
	if err != nil {
		return false
	}
	if syscall.Kill(n, 0) != nil {
		return true
	}
	state, err := os.ReadFile("/proc/" + strconv.Itoa(n) + "/stat") // a zombie that nobody has reaped
	return err == nil && strings.Contains(string(state), ") Z ")
}

func waitGone(t *testing.T, what, pid string) {
	t.Helper()
	waitFor(t, what+" has ended, process "+pid, func() bool { return isGone(pid) })
}

// TestProcesses checks that there is one template, that each job has one worker, and that it ends
// with the job.
func TestProcesses(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": living})
	first, second := d.begin(t), d.begin(t)
	template, worker := first.call("own.template"), first.call("own.worker")
	if got := first.call("own.worker"); got != worker {
		t.Errorf("a second call of a job runs in process %s, not %s", got, worker)
	}
	if got := second.call("own.template"); got != template {
		t.Errorf("a second job has the template %s, not %s", got, template)
	}
	if got := second.call("own.worker"); got == worker {
		t.Errorf("a second job has the worker %s too", got)
	}
	first.end()
	waitGone(t, "the worker", worker)
	second.end()
	if isGone(template) {
		t.Error("the template has ended with the jobs")
	}
	if err := d.host.Close(); err != nil {
		t.Error(err)
	}
	waitGone(t, "the template", template)
}

// TestIdleTemplateEnds checks that a template ends some time after its last worker.
func TestIdleTemplateEnds(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": living}, func(o *python.Options) { o.Idle = 20 * time.Millisecond })
	template := d.job(t, "own.template")
	waitGone(t, "the template", template)
	j := d.begin(t)
	worker := j.call("own.worker")
	time.Sleep(100 * time.Millisecond) // idle for a template, which has a worker
	if got := j.call("own.worker"); got != worker {
		t.Errorf("after a while the worker is %s, not %s", got, worker)
	}
	template = j.call("own.template")
	j.end()
	waitGone(t, "the second template", template)
}

// TestRenew checks that later jobs get a new template, and that a job under way keeps its worker.
func TestRenew(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": living})
	j := d.begin(t)
	template, worker := j.call("own.template"), j.call("own.worker")
	d.host.Renew()
	if got := d.job(t, "own.template"); got == template {
		t.Error("the template is the same after a renewal")
	}
	if got := j.call("own.worker"); got != worker {
		t.Errorf("the worker of a job is %s after a renewal, not %s", got, worker)
	}
	j.end()
	waitGone(t, "the old template", template)
}

// TestDeadTemplateIsReplaced kills the template while a job is under way.
func TestDeadTemplateIsReplaced(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": living})
	j := d.begin(t)
	template, worker := j.call("own.template"), j.call("own.worker")
	pid, err := strconv.Atoi(strings.Trim(template, "'"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitGone(t, "the template", template)
	if got := d.job(t, "own.template"); got == template || strings.HasPrefix(got, "error") {
		t.Errorf("the template is %s", got)
	}
	if got := j.call("own.worker"); got != worker {
		t.Errorf("the worker of the job is %s, not %s", got, worker)
	}
	j.end()
	waitGone(t, "the worker", worker)
}

// TestSlowImportEnds checks that a file whose import does not end is given up, that no process of it
// stays, and that other files are loaded after it.
func TestSlowImportEnds(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	d := newDaemon(t, map[string]string{"own": living, "slow": "import os, time\n" +
		"open(" + strconv.Quote(pid) + ", 'w').write(str(os.getpid()))\ntime.sleep(1000)\n"},
		func(o *python.Options) { o.Load = 4 * time.Second })
	j := d.begin(t)
	for range 2 {
		if got := d.functions.MissingText("slow.f"); !strings.Contains(got, "its import takes longer than 4s") {
			t.Errorf("a function of the slow file: %s", got)
		}
	}
	if got := j.call("own.worker"); strings.HasPrefix(got, "error") {
		t.Errorf("a function of another file: %s", got)
	}
	j.end()
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	waitGone(t, "the process that loaded the slow file", string(text))
}

// TestJobsWaitForWorkers checks that jobs beyond the limit wait, and that what a job with a worker
// needs never waits.
func TestJobsWaitForWorkers(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": living, "other": living + `
def nested():
    return __salt__["echo.call"]("own.worker") == __salt__["echo.call"]("late.worker") == worker()
`, "late": living}, func(o *python.Options) { o.Workers = 1 })
	first := d.begin(t)
	if got := first.call("other.nested"); got != "True" {
		t.Errorf("nested calls and loads at the limit: %s", got)
	}
	second := d.begin(t)
	ctx, cancel := context.WithTimeout(second.ctx, 50*time.Millisecond)
	defer cancel()
	second.ctx = ctx
	if got := second.call("own.worker"); got != "error: wait for other jobs in Python: context deadline exceeded" {
		t.Errorf("a job beyond the limit: %s", got)
	}
	second.end()
	waiting := make(chan string)
	third := d.begin(t)
	go func() { waiting <- third.call("own.worker") }()
	first.end()
	if got := <-waiting; strings.HasPrefix(got, "error") {
		t.Errorf("a job that has waited: %s", got)
	}
	third.end()
}

// TestKilledDaemonTakesItsProcesses kills a daemon and a command as kill -9 does, while a job is under
// way. The daemon's template, its workers and their programs end.
func TestKilledDaemonTakesItsProcesses(t *testing.T) {
	const variable = "PYTHON_TEST_HANG"
	if file := os.Getenv(variable); file != "" {
		d := newDaemon(t, map[string]string{"own": living}, func(o *python.Options) {
			o.Daemon = filepath.Base(file) == "daemon"
		})
		t.Errorf("own.hang returned %s", d.job(t, "own.hang", file))
		return
	}
	for _, kind := range []string{"daemon", "command"} {
		file := filepath.Join(t.TempDir(), kind)
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"="+file)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the job of the "+kind+" runs", func() bool {
			_, err := os.Stat(file)
			return err == nil
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		pids, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		template, rest, _ := strings.Cut(string(pids), " ")
		worker, child, _ := strings.Cut(rest, " ")
		waitGone(t, "the worker of a killed "+kind, worker)
		if kind == "daemon" {
			waitGone(t, "the template of a killed daemon", template)
			waitGone(t, "the program of a job of a killed daemon", child)
			continue
		}
		pid, err := strconv.Atoi(child)
		if err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // goes on after kill -9 of a command, as Salt's
	}
}

// TestOldProgramsAreRemoved checks that the host program of another version is removed, unless a
// process uses it.
func TestOldProgramsAreRemoved(t *testing.T) {
	cache := t.TempDir()
	dir := filepath.Join(cache, "python")
	for _, name := range []string{"0123456789abcdef", "fedcba9876543210", "notes"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "brinehost"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Create(filepath.Join(dir, "fedcba9876543210", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	d := newDaemon(t, map[string]string{"own": living}, func(o *python.Options) { o.CacheDir = cache })
	d.job(t, "own.worker")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) != 3 || slices.Contains(names, "0123456789abcdef") {
		t.Errorf("%s has %v", dir, names)
	}
}

// TestClearedCache checks that a job works after an operator has emptied the cache directory.
func TestClearedCache(t *testing.T) {
	cache := t.TempDir()
	d := newDaemon(t, map[string]string{"own": living}, func(o *python.Options) { o.CacheDir = cache })
	d.job(t, "own.worker")
	if err := os.RemoveAll(filepath.Join(cache, "python")); err != nil {
		t.Fatal(err)
	}
	d.host.Renew()
	if got := d.job(t, "own.worker"); strings.HasPrefix(got, "error") {
		t.Errorf("own.worker = %s", got)
	}
}

// TestEnvironment checks what plug-ins and their programs inherit: the daemon's variables and umask,
// but not what belongs to the daemon alone.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"NOTIFY_SOCKET", "BRINE_SECRET", "LISTEN_FDS", "OWN_VARIABLE", "http_proxy", "TZ"} {
		t.Setenv(name, "set")
	}
	d := newDaemon(t, map[string]string{"own": `
import os, sys

def variables():
    names = ("NOTIFY_SOCKET", "BRINE_SECRET", "LISTEN_FDS", "OWN_VARIABLE", "http_proxy", "TZ")
    return [name for name in names if name in os.environ]

def isolated():
    return [sys.flags.isolated, "" in sys.path, os.getcwd()]

def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask

def inherited():
    return os.popen("ls -l /proc/self/fd | grep -c socket").read().strip()

def arguments():
    return [a for a in sys.argv[1:] if not a.startswith("/")]
`})
	umask := syscall.Umask(0o022)
	syscall.Umask(umask)
	for _, tt := range []struct{ fun, want string }{
		{"own.variables", "['OWN_VARIABLE', 'http_proxy', 'TZ']"}, {"own.isolated", "[1, False, '/']"},
		{"own.umask", strconv.Itoa(umask)}, {"own.arguments", "['fork', '3']"}, {"own.inherited", "'0'"},
	} {
		d.want(t, tt.want, tt.fun)
	}
}
