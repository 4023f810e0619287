package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnats"
)

func TestALeaseHasOneHolderAtATime(t *testing.T) {
	s := one(t)
	var holders atomic.Int32
	var mu sync.Mutex
	var tokens []uint64
	var wg sync.WaitGroup
	for i := range 3 {
		l := s.join(t, fmt.Sprint("m", i)).Leases()
		wg.Go(func() {
			for range 3 {
				err := l.Run(patiently(t), "schedule", func(_ context.Context, token Token) error {
					if n := holders.Add(1); n != 1 {
						t.Errorf("%d holders", n)
					}
					defer holders.Add(-1)
					mu.Lock()
					defer mu.Unlock()
					tokens = append(tokens, token.Number)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(tokens) != 9 || !slices.IsSorted(tokens) || len(slices.Compact(tokens)) != 9 {
		t.Errorf("tokens %v, want 9 that rise", tokens)
	}
}

func TestLeasesOfDifferentNamesAreIndependent(t *testing.T) {
	s := one(t)
	l := s.join(t, "a").Leases()
	err := l.Run(patiently(t), "one", func(ctx context.Context, _ Token) error {
		return l.Run(ctx, "two", func(context.Context, Token) error { return nil })
	})
	must(t, err)
}

func TestALeaseIsRenewed(t *testing.T) {
	s := one(t)
	s.o.LeaseTime = leastLease
	a, b := s.join(t, "a").Leases(), s.join(t, "b").Leases()
	held, give := make(chan struct{}), make(chan struct{})
	first := following(t, func(ctx context.Context) error {
		return a.Run(ctx, "l", func(ctx context.Context, _ Token) error {
			close(held)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-give:
				return nil
			}
		})
	})
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), 3*leastLease)
	defer cancel()
	err := b.Run(ctx, "l", func(context.Context, Token) error { return errors.New("taken") })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it is held: %v, want %v", err, context.DeadlineExceeded)
	}
	close(give)
	if err := <-first; err != nil {
		t.Errorf("the holder: %v", err)
	}
	must(t, b.Run(patiently(t), "l", func(context.Context, Token) error { return nil }))
}

func TestAHolderStopsInTimeWithoutAQuorum(t *testing.T) {
	s := one(t)
	l := s.join(t, "a").Leases()
	start := make(chan time.Time, 1)
	var stopped time.Duration
	err := l.Run(patiently(t), "l", func(ctx context.Context, _ Token) error {
		began := time.Now()
		s.servers.Nodes[0].Stop(t)
		start <- began
		<-ctx.Done()
		stopped = time.Since(began)
		if !errors.Is(context.Cause(ctx), ErrLeaseLost) {
			t.Errorf("cause %v, want %v", context.Cause(ctx), ErrLeaseLost)
		}
		return nil
	})
	if !errors.Is(err, ErrLeaseLost) {
		t.Errorf("Run = %v, want %v", err, ErrLeaseLost)
	}
	// a renewal may have been under way when the server was stopped
	if stopped >= s.o.LeaseTime {
		t.Errorf("the holder stopped after %s, at which another may have the lease", stopped)
	}
	s.servers.Nodes[0].Continue(t)
}

func TestAFenceShutsForEarlierHolders(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a").Leases(), s.join(t, "b").Leases()
	ctx := patiently(t)
	first, err := a.Fence(ctx, Token{"l", 5})
	must(t, err)
	if first.Last() != nil {
		t.Errorf("Last = %q at first", first.Last())
	}
	must(t, first.Save(ctx, []byte("step 1")))
	must(t, first.Check(ctx))
	second, err := b.Fence(ctx, Token{"l", 9})
	must(t, err)
	if string(second.Last()) != "step 1" {
		t.Errorf("the second holder finds %q", second.Last())
	}
	if err := first.Check(ctx); !errors.Is(err, ErrStale) {
		t.Errorf("Check of the first = %v, want %v", err, ErrStale)
	}
	if err := first.Save(ctx, []byte("step 2")); !errors.Is(err, ErrStale) {
		t.Errorf("Save of the first = %v, want %v", err, ErrStale)
	}
	if _, err := a.Fence(ctx, Token{"l", 5}); !errors.Is(err, ErrStale) {
		t.Errorf("the first passes again: %v, want %v", err, ErrStale)
	}
	must(t, second.Save(ctx, []byte("step 3")))
	// a write whose acknowledgement was lost
	must(t, second.save(ctx, []byte("step 4")))
	second.revision--
	must(t, second.Save(ctx, []byte("step 4")))
	third, err := a.Fence(ctx, Token{"l", 10})
	must(t, err)
	if string(third.Last()) != "step 4" {
		t.Errorf("the third holder finds %q", third.Last())
	}
	if err := third.Save(ctx, make([]byte, maxStep+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Save beyond the limit: %v, want %v", err, ErrTooLarge)
	}
}

// The environment of a process that works under a lease for TestAFrozenHolderIsShutOut.
const (
	workerServers = "BRINE_TEST_LEASE_SERVERS"
	workerKey     = "BRINE_TEST_LEASE_KEY"
	workerName    = "BRINE_TEST_LEASE_MEMBER"
	workerLog     = "BRINE_TEST_LEASE_LOG"
)

// TestWorker is no test: it counts up a number under a lease until it is killed, and writes each
// number that passed the fence, with its token, to a file.
func TestWorker(t *testing.T) {
	if os.Getenv(workerName) == "" {
		t.SkipNow()
	}
	c, err := Open(t.Context(), Options{Servers: strings.Split(os.Getenv(workerServers), ","), Name: "test",
		Member: os.Getenv(workerName), KeyFile: os.Getenv(workerKey), Replicas: 1, LeaseTime: 2 * time.Second})
	must(t, err)
	log, err := os.OpenFile(os.Getenv(workerLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	for {
		err := c.Leases().Run(t.Context(), "count", func(ctx context.Context, token Token) error {
			return count(ctx, c, token, log)
		})
		fmt.Fprintf(log, "end %q\n", fmt.Sprint(err))
	}
}

// count counts until the lease or the fence ends it. It does not look at ctx between two steps, so
// that a frozen holder runs into the fence.
func count(ctx context.Context, c *Cluster, token Token, log *os.File) error {
	f, err := c.Leases().Fence(ctx, token)
	if err != nil {
		return err
	}
	for n, _ := strconv.Atoi(string(f.Last())); ; n++ {
		if err := f.Save(context.WithoutCancel(ctx), strconv.AppendInt(nil, int64(n+1), 10)); err != nil {
			return err
		}
		fmt.Fprintf(log, "step %d %d\n", n+1, token.Number)
	}
}

// TestAFrozenHolderIsShutOut stops processes with SIGSTOP for longer than their lease, in the middle
// of their work. Each number must be counted once, and tokens must rise with the numbers.
func TestAFrozenHolderIsShutOut(t *testing.T) {
	need.Time(t, "leases expire")
	s := one(t)
	s.join(t, "observer") // makes the streams
	dir := t.TempDir()
	workers := []*exec.Cmd{}
	for i := range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWorker$")
		name := fmt.Sprint("worker", i)
		cmd.Env = append(os.Environ(), workerServers+"="+strings.Join(s.o.Servers, ","), workerKey+"="+s.key,
			workerName+"="+name, workerLog+"="+filepath.Join(dir, name))
		must(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		workers = append(workers, cmd)
	}
	read := func(i int) (steps map[int]uint64, ends []string) {
		return readLog(t, filepath.Join(dir, fmt.Sprint("worker", i)))
	}
	holder := func() int { // the one whose log grows
		found := -1
		before := [2]int{}
		for i := range before {
			steps, _ := read(i)
			before[i] = len(steps)
		}
		eventually(t, "a step", func() bool {
			for i := range before {
				if steps, _ := read(i); len(steps) > before[i] {
					found = i
				}
			}
			return found >= 0
		})
		return found
	}
	for range 2 {
		frozen := holder()
		process := workers[frozen].Process
		must(t, process.Signal(syscall.SIGSTOP))
		eventually(t, "the process to stop", func() bool { return testnats.Stopped(process.Pid) })
		if next := holder(); next == frozen {
			t.Fatal("a stopped process takes steps")
		}
		_, before := read(frozen)
		must(t, process.Signal(syscall.SIGCONT))
		eventually(t, "the frozen holder to notice", func() bool {
			_, ends := read(frozen)
			return len(ends) > len(before)
		})
		_, ends := read(frozen)
		if last := ends[len(ends)-1]; !strings.Contains(last, ErrStale.Error()) {
			t.Errorf("the frozen holder ended with %s", last)
		}
	}
	all := map[int]uint64{}
	tokens := map[uint64]bool{}
	for i := range workers {
		steps, _ := read(i)
		for n, token := range steps {
			if all[n] != 0 {
				t.Errorf("step %d was taken twice, with the tokens %d and %d", n, all[n], token)
			}
			all[n] = token
			tokens[token] = true
		}
	}
	last := slices.Max(slices.Collect(maps.Keys(all)))
	for n := 2; n <= last; n++ {
		switch {
		// a holder that froze between the step and its acknowledgement does not know of it; the next one does
		case all[n] == 0 && all[n-1] > 0 && all[n-1] < all[n+1]:
		case all[n] == 0:
			t.Errorf("nobody took step %d: before it the token is %d, after it %d", n, all[n-1], all[n+1])
		case all[n] < all[n-1]:
			t.Errorf("step %d has token %d, the step before %d", n, all[n], all[n-1])
		}
	}
	if len(tokens) < 3 {
		t.Errorf("%d holdings only", len(tokens))
	}
	t.Logf("%d steps under %d tokens", len(all), len(tokens))
}

func readLog(t testing.TB, path string) (steps map[int]uint64, ends []string) {
	t.Helper()
	steps = map[int]uint64{}
	f, err := os.Open(path)
	if err != nil {
		return steps, nil // the process has not begun
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var n int
		var token uint64
		if _, err := fmt.Sscanf(lines.Text(), "step %d %d", &n, &token); err == nil {
			if steps[n] != 0 {
				t.Errorf("%s: step %d twice", path, n)
			}
			steps[n] = token
			continue
		}
		ends = append(ends, lines.Text())
	}
	return steps, ends
}
