package localcache

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// crashDir is the environment variable that makes this test binary a program that saves jobs there
// until it is killed.
const crashDir = "BRINE_TEST_LOCALCACHE_CRASH"

func TestCrashProgram(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("this is the program that TestKilledAtAnyMoment kills")
	}
	c := opened(t, dir, Options{EndTime: true})
	for n := 0; ; n++ {
		j := returnertest.Job(t, n, "test.echo", "a", "b")
		must(t, c.SaveJob(t.Context(), j))
		fmt.Printf("saved %d 0\n", n)
		for m, id := range j.Minions {
			_, err := c.SaveReturn(t.Context(), j.ID, returnertest.Return(t, j.ID, id, id, 1))
			must(t, err)
			fmt.Printf("saved %d %d\n", n, m+1)
		}
	}
}

// TestKilledAtAnyMoment kills the program while it saves: acknowledged data are there, and nothing
// is incomplete.
func TestKilledAtAnyMoment(t *testing.T) {
	for range 8 {
		dir := filepath.Join(t.TempDir(), "jobs")
		jobs, returns := killed(t, dir, 1+rand.IntN(60))
		c := opened(t, dir, Options{})
		for n := range jobs {
			j := returnertest.Job(t, n, "test.echo", "a", "b")
			got, err := c.Returns(t.Context(), j.ID)
			must(t, err)
			if len(got) < returns[n] {
				t.Errorf("job %d has %d returns, %d were acknowledged", n, len(got), returns[n])
			}
			if _, err := c.Job(t.Context(), j.ID); err != nil {
				t.Errorf("job %d: %v", n, err)
			}
			for _, r := range got {
				if want := returnertest.Return(t, j.ID, r.Minion, r.Minion,
					1); string(want.Load) != string(r.Load) {
					t.Errorf("return %q of job %d is %q", r.Minion, n, r.Load)
				}
			}
		}
		list, err := c.Jobs(t.Context(), returners.Filter{})
		if err != nil || len(list) < jobs || len(list) > jobs+1 {
			t.Errorf("%d jobs, %v, want %d or one more", len(list), err, jobs)
		}
		must(t, c.Close())
	}
}

// killed runs the program until it has acknowledged a number of changes, and returns what it has
// acknowledged by then.
func killed(t *testing.T, dir string, after int) (jobs int, returns map[int]int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashProgram$", "-test.v")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	returns = map[int]int{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var n, m int
		if k, _ := fmt.Sscanf(lines.Text(), "saved %d %d", &n, &m); k != 2 {
			continue
		}
		jobs, returns[n] = max(jobs, n+1), m
		if after--; after == 0 {
			must(t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait() // it was killed
	if jobs == 0 {
		t.Fatal("the program saved nothing")
	}
	return jobs, returns
}

// TestFullDisk uses a small disk: data that do not fit are an error, saved data stay, and
// everything works when there is room again.
func TestFullDisk(t *testing.T) {
	base := t.TempDir()
	unmount, err := mountSmall(base, 1<<20)
	need.That(t, "right to mount a tmpfs", err)
	t.Cleanup(func() { must(t, unmount()) })
	c := opened(t, filepath.Join(base, "jobs"), Options{})
	filler := filepath.Join(base, "filler")
	saved := 0
	for n := 0; ; n++ {
		j := returnertest.Job(t, n, "test.echo", "a")
		if err := c.SaveJob(t.Context(), j); err != nil {
			break
		}
		_, err := c.SaveReturn(t.Context(), j.ID, returnertest.Return(t, j.ID, "a", make([]byte, 20<<10), 1))
		if err != nil {
			break
		}
		saved++
		if n == 3 {
			must(t, os.WriteFile(filler, make([]byte, 200<<10), 0o600))
		}
	}
	check := func(when string) {
		list, err := c.Jobs(t.Context(), returners.Filter{})
		if err != nil || len(list) < saved || len(list) > saved+1 {
			t.Errorf("%s: %d jobs, %v, want %d", when, len(list), err, saved)
		}
		for n := range saved {
			id := returnertest.Job(t, n, "x").ID
			if got, err := c.Returns(t.Context(), id); err != nil || len(got) != 1 {
				t.Errorf("%s: job %d has %d returns, %v", when, n, len(got), err)
			}
		}
	}
	if saved < 4 {
		t.Fatal("only " + strconv.Itoa(saved) + " jobs fit")
	}
	check("full")
	must(t, os.Remove(filler))
	save(t, c, returnertest.Job(t, 5000, "test.echo", "a"), "a")
	saved++
	list, err := c.Jobs(t.Context(), returners.Filter{})
	if err != nil || len(list) < saved {
		t.Errorf("with room again: %d jobs, %v", len(list), err)
	}
}
