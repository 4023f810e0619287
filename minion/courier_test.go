package minion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

func quiet() *logrus.Logger {
	log := logging.Discard()
	return log
}

// A fakeMaster takes returns, or does not.
type fakeMaster struct {
	mu    sync.Mutex
	err   error
	reply any // what it answers instead of taking a return; nil takes it
	calls []time.Time
	got   []string // job ids
	last  *data.Map
}

func (f *fakeMaster) call(_ context.Context, load *data.Map) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, time.Now())
	if f.err != nil {
		return nil, f.err
	}
	v, err := payload.Marshal(load)
	if err != nil {
		return nil, err
	}
	m, err := payload.Unmarshal(v, payload.WireLimits())
	if err != nil {
		return nil, err
	}
	if f.reply != nil {
		return f.reply, nil
	}
	f.last = m.(*data.Map)
	f.got = append(f.got, f.last.Text("jid"))
	return true, nil
}

func (f *fakeMaster) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeMaster) state() (calls int, got []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls), slices.Clone(f.got)
}

func newTestCourier(t *testing.T, f *fakeMaster, dir string) (c *courier, lost *[]string) {
	t.Helper()
	lost = new([]string)
	c = &courier{call: f.call, gate: newGate(), id: "web1", log: quiet(),
		slots: semaphore.NewWeighted(maxInFlight), wake: make(chan struct{}, 1)}
	var err error
	c.spool, err = openSpool(dir, defaultBounds(), func(jid string, _ error) { *lost = append(*lost, jid) })
	if err != nil {
		t.Logf("spool: %v", err)
	}
	c.gate.set(true)
	return c, lost
}

func giveReturns(c *courier, jids ...string) {
	for _, jid := range jids {
		c.deliver(&job.Return{ID: "web1", JID: job.ID(jid), Fun: "test.ping", Value: true,
			Retcode: int64(0), Success: true})
	}
}

func TestReturnThatIsKeptIsSentWhenItMay(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		master := &fakeMaster{}
		c, _ := newTestCourier(t, master, dir)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.run(ctx) }()
		held := c.store(&job.Return{ID: "web1", JID: "20260101000000000001", Fun: "test.ping",
			Value: true})
		c.retryNow()
		time.Sleep(time.Minute)
		if calls, _ := master.state(); calls != 0 || c.spool.len() != 1 {
			t.Errorf("%d calls, %d in the spool before the return may be sent", calls, c.spool.len())
		}
		c.release(held)
		synctest.Wait()
		if _, got := master.state(); len(got) != 1 || c.spool.len() != 0 {
			t.Errorf("the master has %q, the spool %d returns", got, c.spool.len())
		}
		stop()
		<-done
	})
}

func TestCourierWaitsLongerEachTimeAndThenDeliversInOrder(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		master := &fakeMaster{err: errors.New("away")}
		c, _ := newTestCourier(t, master, dir)
		c.slots = semaphore.NewWeighted(1)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.run(ctx) }()
		want := []string{"20260101000000000001", "20260101000000000002", "20260101000000000003"}
		giveReturns(c, want...)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		calls, _ := master.state()
		if calls < 15 || calls > 50 { // pauses of 15 to 30 s
			t.Errorf("%d attempts in ten minutes", calls)
		}
		for i := 1; i < len(master.calls); i++ {
			if gap := master.calls[i].Sub(master.calls[i-1]); gap < minRetry/2 || gap > maxRetry {
				t.Errorf("pause %d is %s", i, gap)
			}
		}
		master.fail(nil)
		c.retryNow()
		synctest.Wait()
		if _, got := master.state(); !slices.Equal(got, want) {
			t.Errorf("delivered %v, want %v", got, want)
		}
		if c.spool.len() != 0 {
			t.Errorf("%d returns in the spool", c.spool.len())
		}
		stop()
		<-done
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left on disk: %v %v", left, err)
	}
}

func TestCourierWaitsAtTheGate(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		master := &fakeMaster{}
		c, _ := newTestCourier(t, master, dir)
		c.gate.set(false)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.run(ctx) }()
		giveReturns(c, "20260101000000000001")
		time.Sleep(time.Hour)
		if calls, _ := master.state(); calls != 0 {
			t.Errorf("%d requests while the master lets nobody in", calls)
		}
		c.gate.set(true)
		synctest.Wait()
		if _, got := master.state(); len(got) != 1 {
			t.Errorf("delivered %v", got)
		}
		stop()
		<-done
	})
}

func TestReturnsOutlastTheMinion(t *testing.T) {
	dir := t.TempDir()
	master := &fakeMaster{}
	c, _ := newTestCourier(t, master, dir)
	giveReturns(c, "20260101000000000001", "20260101000000000002") // nobody runs it
	c, lost := newTestCourier(t, master, dir)
	deliverAll(t, c)
	if _, got := master.state(); !slices.Equal(got,
		[]string{"20260101000000000001", "20260101000000000002"}) || len(*lost) > 0 {
		t.Errorf("delivered %v, lost %v", got, *lost)
	}
	if master.last.Value("return") != true || master.last.Text("cmd") != "_return" ||
		master.last.Text("id") != "web1" {
		t.Errorf("return: %s", data.Repr(master.last))
	}
}

// deliverAll runs c until its spool is empty.
func deliverAll(t *testing.T, c *courier) {
	t.Helper()
	c.slots = semaphore.NewWeighted(1)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.run(ctx) }()
	c.finish(stop, done)
}

func TestDamagedReturnCostsOnlyItself(t *testing.T) {
	for name, damage := range map[string]func(body []byte) []byte{
		"a bit flipped": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"cut":           func(b []byte) []byte { return b[:len(b)/2] },
		"emptied":       func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			master := &fakeMaster{}
			c, _ := newTestCourier(t, master, dir)
			giveReturns(c, "20260101000000000001", "20260101000000000002")
			file := filepath.Join(dir, c.spool.order[0])
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(body), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, odd := range []string{"x.ret", "00000000000000000001-../../x.ret", tempPrefix + "1"} {
				_ = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(odd, "/", "_")), []byte("x"), 0o600)
			}
			if err := os.Mkdir(filepath.Join(dir, spoolName(1, "20260101000000000009")), 0o700); err != nil {
				t.Fatal(err)
			}
			c, lost := newTestCourier(t, master, dir)
			deliverAll(t, c)
			if _, got := master.state(); !slices.Equal(got, []string{"20260101000000000002"}) ||
				!slices.Equal(*lost, []string{"20260101000000000001"}) {
				t.Errorf("delivered %v, lost %v", got, *lost)
			}
			if _, err := os.Stat(filepath.Join(dir, tempPrefix+"1")); err == nil {
				t.Error("a half-written file is still there")
			}
		})
	}
}

// TestReturnThatCannotBeReadIsKept has a return that cannot be read for a while, as if the host had no free
// file descriptors: neither a delivery nor a move to another master drops it.
func TestReturnThatCannotBeReadIsKept(t *testing.T) {
	dir := t.TempDir()
	here, there, aside := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "aside")
	master := &fakeMaster{}
	c, _ := newTestCourier(t, master, here)
	giveReturns(c, "20260101000000000001")
	from, lostFrom := newTestCourier(t, master, here) // which has no bodies in memory
	to, lostTo := newTestCourier(t, master, there)
	name := from.spool.order[0]
	if err := errors.Join(os.Rename(filepath.Join(here, name), aside),
		os.Mkdir(filepath.Join(here, name), 0o700)); err != nil {
		t.Fatal(err)
	}
	try := func(c *courier) {
		t.Helper()
		c.spool.retryNow()
		claimed, _ := c.spool.claim(time.Now())
		if claimed != name {
			t.Fatalf("%q is claimed, want %q", claimed, name)
		}
		c.try(t.Context(), claimed)
	}
	try(from)
	from.moveTo(to)
	try(to)
	if n := len(*lostFrom) + len(*lostTo); n > 0 || to.spool.len() != 1 {
		t.Fatalf("%d returns are lost, %d are in the next spool", n, to.spool.len())
	}
	if err := errors.Join(os.Remove(filepath.Join(there, name)),
		os.Rename(aside, filepath.Join(there, name))); err != nil {
		t.Fatal(err)
	}
	try(to)
	if _, got := master.state(); len(got) != 1 || to.spool.len() != 0 {
		t.Errorf("delivered %v, %d returns are left", got, to.spool.len())
	}
}

// TestReturnThatIsGoneDoesNotBlockOthers moves returns of which the file of the first is gone.
func TestReturnThatIsGoneDoesNotBlockOthers(t *testing.T) {
	dir := t.TempDir()
	here, there := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	master := &fakeMaster{}
	c, _ := newTestCourier(t, master, here)
	giveReturns(c, "20260101000000000001", "20260101000000000002")
	from, lost := newTestCourier(t, master, here)
	to, _ := newTestCourier(t, master, there)
	first := from.spool.order[0]
	if err := os.Remove(filepath.Join(here, first)); err != nil {
		t.Fatal(err)
	}
	from.moveTo(to)
	if len(*lost) != 1 || from.spool.len() != 0 || to.spool.len() != 1 {
		t.Errorf("lost %v, %d returns stay, %d have moved", *lost, from.spool.len(), to.spool.len())
	}
	there = filepath.Join(dir, "c")
	to, _ = newTestCourier(t, master, there)
	c.moveTo(to) // it still has both in memory
	if c.spool.len() != 0 || to.spool.len() != 2 || len(names(t, there)) != 2 {
		t.Errorf("%d returns stay, %d have moved, with files %q", c.spool.len(), to.spool.len(), names(t, there))
	}
}

func TestSpoolWithoutADiskHoldsReturnsInMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	master := &fakeMaster{}
	c, _ := newTestCourier(t, master, filepath.Join(file, "spool"))
	giveReturns(c, "20260101000000000001")
	deliverAll(t, c)
	if _, got := master.state(); len(got) != 1 {
		t.Errorf("delivered %v", got)
	}
}

func TestSpoolIsBounded(t *testing.T) {
	var lost []string
	s, err := openSpool(t.TempDir(),
		spoolBounds{files: 3, bytes: 1000, memory: 100, age: time.Hour}, func(jid string, why error) {
			lost = append(lost, jid+": "+why.Error())
		})
	if err != nil {
		t.Fatal(err)
	}
	put := func(n, size int) {
		if _, err := s.add(fmt.Sprint(n), make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 5 {
		put(n, 10)
	}
	put(5, 990)
	if want := []string{"0: the spool is full", "1: the spool is full", "2: the spool is full",
		"3: the spool is full", "4: the spool is full"}; !slices.Equal(lost, want) {
		t.Errorf("lost %v, want %v", lost, want)
	}
	if s.len() != 1 || s.bytes != 994 || s.memory != 0 {
		t.Errorf("the spool has %d returns, %d bytes, %d in memory", s.len(), s.bytes, s.memory)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestReturnsMoveToAnotherMaster moves the files themselves, in the order of their age, so that a flushed
// return stays flushed and needs no room on the disk.
func TestReturnsMoveToAnotherMaster(t *testing.T) {
	dir := t.TempDir()
	here, there := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	next := &fakeMaster{}
	from, lostFrom := newTestCourier(t, &fakeMaster{}, here)
	to, lostTo := newTestCourier(t, next, there)
	giveReturns(from, "20260101000000000001", "20260101000000000002")
	giveReturns(to, "20260101000000000003")
	giveReturns(from, "20260101000000000004")
	moving := names(t, here)
	from.sync(moving[0])
	before, err := os.Stat(filepath.Join(here, moving[0]))
	if err != nil {
		t.Fatal(err)
	}
	from.moveTo(to)
	if left := names(t, here); len(left) > 0 || from.spool.len() != 0 || from.spool.bytes != 0 {
		t.Errorf("files %q, %d returns, %d bytes in the first spool", left, from.spool.len(), from.spool.bytes)
	}
	after, err := os.Stat(filepath.Join(there, moving[0]))
	if err != nil || !os.SameFile(before, after) {
		t.Fatalf("the return was copied, not moved: %v", err)
	}
	if !to.spool.items[moving[0]].durable || to.spool.items[moving[1]].durable {
		t.Error("the flushed return counts as not flushed, or the other one as flushed")
	}
	if !slices.Equal(to.spool.order, names(t, there)) {
		t.Errorf("order %q of files %q", to.spool.order, names(t, there))
	}
	deliverAll(t, to)
	want := []string{"20260101000000000001", "20260101000000000002", "20260101000000000003",
		"20260101000000000004"}
	if _, got := next.state(); !slices.Equal(got, want) || len(*lostFrom)+len(*lostTo) > 0 {
		t.Errorf("delivered %v, want %v; lost %v, %v", got, want, *lostFrom, *lostTo)
	}
	if left := names(t, there); len(left) > 0 {
		t.Errorf("files %q left", left)
	}
}

// TestReturnsStayIfTheyCannotMove moves returns to a spool that cannot be written, and to a full one: they
// keep their files, and move later.
func TestReturnsStayIfTheyCannotMove(t *testing.T) {
	for name, block := range map[string]func(t *testing.T, to *spool) (unblock func()){
		"no directory": func(t *testing.T, to *spool) func() {
			if err := os.Remove(to.dir); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Mkdir(to.dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
		},
		"full": func(_ *testing.T, to *spool) func() {
			to.bounds.files = 0
			return func() { to.bounds = defaultBounds() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			here, there := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			next := &fakeMaster{}
			from, lostFrom := newTestCourier(t, &fakeMaster{}, here)
			to, lostTo := newTestCourier(t, next, there)
			giveReturns(from, "20260101000000000001", "20260101000000000002")
			kept := names(t, here)
			unblock := block(t, to.spool)
			from.moveTo(to)
			if got := names(t, here); !slices.Equal(got, kept) || to.spool.len() > 0 {
				t.Errorf("files %q, want %q; %d returns in the next spool", got, kept, to.spool.len())
			}
			unblock()
			from.moveTo(to) // also shows that the returns are not claimed
			deliverAll(t, to)
			if _, got := next.state(); len(got) != 2 || len(*lostFrom)+len(*lostTo) > 0 {
				t.Errorf("delivered %v; lost %v, %v", got, *lostFrom, *lostTo)
			}
		})
	}
}

// TestReturnsInMemoryMoveToo moves returns of a spool without a disk to one with and to one without.
func TestReturnsInMemoryMoveToo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]string{
		"to a disk": filepath.Join(dir, "b"), "to memory": filepath.Join(file, "b"),
	} {
		t.Run(name, func(t *testing.T) {
			next := &fakeMaster{}
			from, lostFrom := newTestCourier(t, &fakeMaster{}, filepath.Join(file, "a"))
			to, lostTo := newTestCourier(t, next, there)
			giveReturns(from, "20260101000000000001")
			to.spool.bounds.memory = 0
			if from.moveTo(to); to.spool.len()+from.spool.len() != 1 || to.spool.memory != 0 ||
				(to.spool.len() == 1) != (name == "to a disk") {
				t.Fatalf("%d returns here, %d there, with %d bytes in memory", from.spool.len(), to.spool.len(),
					to.spool.memory)
			}
			to.spool.bounds = defaultBounds()
			from.moveTo(to)
			deliverAll(t, to)
			if _, got := next.state(); len(got) != 1 || len(*lostFrom)+len(*lostTo) > 0 ||
				from.spool.memory != 0 || to.spool.memory != 0 {
				t.Errorf("delivered %v; lost %v, %v", got, *lostFrom, *lostTo)
			}
		})
	}
}

// TestReturnThatIsGoneIsNotFlushed flushes a return whose file has just moved to another spool.
func TestReturnThatIsGoneIsNotFlushed(t *testing.T) {
	dir := t.TempDir()
	c, _ := newTestCourier(t, &fakeMaster{}, dir)
	giveReturns(c, "20260101000000000001")
	name := c.spool.order[0]
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	if err := c.spool.sync(name); err != nil || c.spool.items[name].durable {
		t.Errorf("sync = %v, the return counts as flushed: %t", err, c.spool.items[name].durable)
	}
}

func TestLargeReturnThatBreaksTheConnectionGivesWay(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		master := &fakeMaster{err: transport.ErrDisconnected}
		c, lost := newTestCourier(t, master, dir)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.run(ctx) }()
		c.deliver(&job.Return{ID: "web1", JID: "20260101000000000001", Fun: "test.echo",
			Value: strings.Repeat("x", 2*largeReturn), Retcode: int64(0), Success: true})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		master.fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		<-done
		if len(*lost) != 1 || !strings.Contains(data.Str(master.last.Value("return")),
			"the master does not take the return") || master.last.Value("retcode") != int64(1) {
			t.Errorf("lost %v, return %.200s", *lost, data.Repr(master.last))
		}
	})
}

// TestReturnThatTheMasterCannotKeepIsSentAgain checks that only an acknowledgement counts as one: a
// master whose disk is full answers with an empty text.
func TestReturnThatTheMasterCannotKeepIsSentAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		master := &fakeMaster{reply: ""}
		c, lost := newTestCourier(t, master, dir)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.run(ctx) }()
		giveReturns(c, "20260101000000000001")
		time.Sleep(time.Minute)
		synctest.Wait()
		if calls, _ := master.state(); calls < 2 || c.spool.len() != 1 || len(*lost) > 0 {
			t.Errorf("%d attempts, %d returns in the spool, given up %v", calls, c.spool.len(), *lost)
		}
		master.mu.Lock()
		master.reply = nil
		master.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, got := master.state(); len(got) != 1 || c.spool.len() != 0 {
			t.Errorf("delivered %v, %d returns in the spool", got, c.spool.len())
		}
		stop()
		<-done
	})
}
