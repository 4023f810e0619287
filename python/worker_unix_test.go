//go:build unix

package python

import (
	"math"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

// TestScenesAreDropped checks that a worker keeps a bounded number of scenes, those used last, and
// that Python is told of each that is dropped.
func TestScenesAreDropped(t *testing.T) {
	w := &worker{}
	first := scene{opts: data.NewMap()}
	w.number(first)
	told := map[int64]bool{}
	for range 100 {
		if _, dropped := w.number(scene{opts: data.NewMap()}); dropped != 0 {
			told[dropped] = true
		}
		if n, dropped := w.number(first); n != 1 || dropped != 0 {
			t.Fatalf("a scene in use has the number %d, and %d was dropped", n, dropped)
		}
	}
	if len(w.scenes) != maxScenes || len(told) != 101-maxScenes || told[1] {
		t.Errorf("%d scenes are kept and %d dropped", len(w.scenes), len(told))
	}
}

// TestReleasedWorkerIsNotKilled checks that a late kill does not reach a process that has got the
// process id of a worker which was released.
func TestReleasedWorkerIsNotKilled(t *testing.T) {
	begin := func() *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		if err := startGroup(cmd); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	first, second := begin(), begin()
	w := &worker{pid: first.Process.Pid, template: &template{}}
	w.end()
	if err := first.Wait(); err == nil {
		t.Error("the worker has not been killed")
	}
	w.pid = second.Process.Pid
	w.kill()
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = second.Wait()
	if got := second.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGTERM {
		t.Errorf("another process with the same id ended by %v", got)
	}
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{
		0.5: time.Second / 2, -1: 0, 1e300: 365 * 24 * time.Hour, math.Inf(1): 365 * 24 * time.Hour,
	} {
		if got := duration(seconds); got != want {
			t.Errorf("duration(%v) = %v, want %v", seconds, got, want)
		}
	}
	if got := duration(math.NaN()); got <= 0 {
		t.Errorf("duration(NaN) = %v", got)
	}
}
