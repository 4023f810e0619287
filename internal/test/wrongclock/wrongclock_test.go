//go:build linux

package wrongclock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
)

// tellVar is the environment variable that makes this program tell the time.
const tellVar = "BRINE_TELL_TIME"

func TestMain(m *testing.M) {
	if os.Getenv(tellVar) != "" {
		tell()
		return
	}
	os.Exit(m.Run())
}

// tell answers each line of standard input with the time of the day by both system calls, and with how
// much time has passed since the first line, in nanoseconds.
func tell() {
	var begun time.Time
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		now := time.Now()
		if begun.IsZero() {
			begun = now
		}
		var day syscall.Timeval
		if err := syscall.Gettimeofday(&day); err != nil {
			panic(err)
		}
		fmt.Println(now.UnixNano(), day.Nano(), now.Sub(begun).Nanoseconds())
	}
}

// TestClock starts a program with a wrong clock, and steps the clock while it runs.
func TestClock(t *testing.T) {
	need.That(t, "way to change a clock", Allowed())
	for _, first := range []time.Duration{2 * time.Minute, -2 * time.Minute, 0} {
		t.Run(first.String(), func(t *testing.T) { steps(t, first) })
	}
}

func steps(t *testing.T, first time.Duration) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), tellVar+"=1")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	c, err := Start(cmd, first)
	must(t, err)
	lines := bufio.NewScanner(out)
	begun := time.Now()
	for _, off := range []time.Duration{first, time.Hour, -time.Hour, 0, first} {
		must(t, c.Set(off))
		before := time.Now()
		_, err := fmt.Fprintln(in)
		must(t, err)
		if !lines.Scan() {
			t.Fatalf("it tells no time: %v", lines.Err())
		}
		after := time.Now()
		var now, day, passed int64
		_, err = fmt.Sscan(lines.Text(), &now, &day, &passed)
		must(t, err)
		for call, told := range map[string]int64{"clock_gettime": now, "gettimeofday": day} {
			// gettimeofday tells microseconds only
			is := time.Unix(0, told).Add(-off)
			if is.Before(before.Round(0).Truncate(time.Microsecond)) || is.After(after.Round(0)) {
				t.Errorf("%s tells %s, want %s to %s, off by %s", call, time.Unix(0, told), before, after, off)
			}
		}
		if passed < 0 || time.Duration(passed) > after.Sub(begun) {
			t.Errorf("with a clock off by %s, %s have passed, want at most %s", off, time.Duration(passed),
				after.Sub(begun))
		}
	}
	must(t, in.Close())
	must(t, cmd.Wait())
	if err := c.Set(0); err == nil {
		t.Error("the clock of a process that has ended can be set")
	}
}

// TestProgramIsMissing starts a program that does not exist.
func TestProgramIsMissing(t *testing.T) {
	if _, err := Start(exec.Command("/does/not/exist"), time.Minute); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is missing: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
