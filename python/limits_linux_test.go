package python_test

import (
	"context"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
)

// TestOutputOfAGigabyte checks that neither what a plug-in prints nor what it returns is kept in
// memory beyond a bound.
func TestOutputOfAGigabyte(t *testing.T) {
	need.Time(t, "a gigabyte through a pipe")
	// garbage is not kept: how much there may be depends on what other tests have left in memory
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	d := newDaemon(t, map[string]string{"own": `
import resource, sys

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

def prints():
    line = "x" * 1023 + "\n"
    before = peak()
    for _ in range(1 << 20):
        sys.stdout.write(line)
    return peak() - before

def prints_one_line():
    before = peak()
    for _ in range(1 << 10):
        sys.stdout.write("x" * (1 << 20))
    return peak() - before

def returns():
    value = b"x" * (1 << 30)
    globals()["__before__"] = peak()
    return value

def ok():
    return "right"
`})
	d.want(t, "'right'", "own.ok")
	for _, tt := range []struct{ fun, want string }{
		{"own.prints", "[0-9]"}, {"own.prints_one_line", "[0-9]"},
		{"own.returns", "error: the value takes 1073741824 bytes, more than the 268435456 that can be returned"},
	} {
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			need.Missing(t, "the peak of memory cannot be reset: "+err.Error())
		}
		before := status(t, "self", "VmRSS")
		got := d.job(t, tt.fun)
		if ok, err := regexp.MatchString("^"+tt.want+"$", got); err != nil || !ok {
			t.Errorf("%s = %.200s: memory of Python in MiB, want %s", tt.fun, got, tt.want)
		}
		grown := status(t, "self", "VmHWM") - before
		t.Logf("%s: Go's memory grows by %d KiB; returned %.100s", tt.fun, grown, got)
		if grown > 32<<10 {
			t.Errorf("%s: Go's memory grows by %d KiB", tt.fun, grown)
		}
		d.want(t, "'right'", "own.ok")
	}
}

// status returns a number of /proc/PID/status.
func status(t testing.TB, pid, name string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), name+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("there is no %s in the status of process %s", name, pid)
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestForkBomb checks that a function that forks without end, within a limit of processes, ends
// with its job, and that a job meanwhile fails with the reason.
func TestForkBomb(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	const most = 200
	limit := syscall.Rlimit{Cur: most, Max: most}
	if err := syscall.Setrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		t.Fatal(err)
	}
	d := newDaemon(t, map[string]string{"own": `
import os, time

def bomb(full):
    while True:
        try:
            os.fork()
        except OSError:
            open(full, "w").close()

def ok():
    return "right"
`})
	d.want(t, "'right'", "own.ok")
	full := t.TempDir() + "/full"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx, scope := loader.WithScope(ctx)
	ended := make(chan error)
	go func() {
		_, err := d.functions.Invoke(ctx, "own.bomb", []any{full}, nil)
		ended <- err
	}()
	waitFor(t, "the limit of processes is reached", func() bool {
		_, err := os.Stat(full)
		return err == nil
	})
	for try := 0; ; try++ { // the bomb's processes come and go
		got := d.job(t, "own.ok")
		if strings.Contains(got, "fork a Python worker: the system allows no more processes or open files") {
			break
		}
		if got != "'right'" || try > 1000 {
			t.Errorf("a job during the bomb returned %s", got)
			break
		}
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the bomb returned")
	}
	if err := scope.Close(); err != nil {
		t.Error(err)
	}
	waitFor(t, "jobs work after the bomb", func() bool { return d.job(t, "own.ok") == "'right'" })
}
