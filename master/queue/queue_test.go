package queue

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/job"
)

var begin = time.Date(2099, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a time that tests set.
type clock struct{ now time.Time }

func open(t testing.TB, dir string, c *clock, o Options) *Queue {
	t.Helper()
	o.Now = func() time.Time { return c.now }
	q, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

func newQueue(t testing.TB, o Options) (*Queue, string, *clock) {
	dir, c := t.TempDir(), &clock{begin}
	return open(t, dir, c, o), dir, c
}

func jid(n int) job.ID { return job.NewID(begin.Add(time.Duration(n) * time.Second)) }

func (q *Queue) puts(t testing.TB, n int, minions ...string) {
	t.Helper()
	item := Item{ID: jid(n), Owner: Owner{Name: "root", Full: true},
		Load: fmt.Appendf(nil, "load %d", n), Minions: minions, Expires: begin.Add(time.Hour)}
	if kept, err := q.Put(item); err != nil || !slices.Equal(kept, minions) {
		t.Fatalf("Put = %v, %v, want %v", kept, err, minions)
	}
}

// told returns entries in a line.
func told(entries []Entry) string {
	var words []string
	for _, e := range entries {
		word := fmt.Sprintf("%d:%s", e.ID[13], e.Minion)
		word = strings.TrimPrefix(word, "4") // '0' is 48
		if e.Sent {
			word += "!"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func begins(t testing.TB, q *Queue, n int, minion string, waits bool) {
	t.Helper()
	if ok, err := q.Begin(jid(n), minion); err != nil || ok != waits {
		t.Fatalf("Begin(%d, %s) = %v, %v", n, minion, ok, err)
	}
}

func ends(t testing.TB, q *Queue, n int, minion string, waits bool) {
	t.Helper()
	if ok, err := q.Done(jid(n), minion); err != nil || ok != waits {
		t.Fatalf("Done(%d, %s) = %v, %v", n, minion, ok, err)
	}
}

func TestJobsWaitForTheirMinions(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1", "web2")
	q.puts(t, 0, "web1")
	item, sent, ok := q.Next("web1", "")
	if !ok || sent || item.ID != jid(0) || string(item.Load) != "load 0" ||
		!slices.Equal(item.Minions, []string{"web1"}) || !item.Queued.Equal(begin) {
		t.Errorf("Next = %+v, %v, %v, want the older job", item, sent, ok)
	}
	begins(t, q, 0, "web1", true)
	begins(t, q, 0, "web1", true)
	begins(t, q, 0, "web2", false)
	ends(t, q, 1, "web2", true)
	ends(t, q, 1, "web2", false)
	for range 2 {
		want(t, "entries", told(q.Entries()), "8:web1! 9:web1")
		if _, sent, _ := q.Next("web1", ""); !sent {
			t.Error("it is not told that the sending had begun")
		}
		if item, _, _ := q.Next("web1", jid(0)); item.ID != jid(1) {
			t.Errorf("the next after the first is %s", item.ID)
		}
		if _, _, ok := q.Next("web1", jid(1)); ok {
			t.Error("there is one after the last")
		}
		if got := q.Minions(); !slices.Equal(got, []string{"web1"}) || q.Len() != 2 {
			t.Errorf("Minions() = %v, Len() = %d", got, q.Len())
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		q = open(t, dir, c, Options{})
	}
}

func TestAJobThatIsThereGainsMinions(t *testing.T) {
	q, _, _ := newQueue(t, Options{})
	q.puts(t, 1, "web1")
	kept, err := q.Put(Item{ID: jid(1), Load: []byte("load 1"),
		Minions: []string{"web1", "web2", "web2"}, Expires: begin})
	if err != nil || !slices.Equal(kept, []string{"web2"}) {
		t.Errorf("Put = %v, %v", kept, err)
	}
	if item, _, ok := q.Next("web2", ""); !ok || string(item.Load) != "load 1" {
		t.Errorf("Next = %+v, %v", item, ok)
	}
}

// TestAKnownIdDoesNotPutAJobOnMoreMinions puts another load under the id of a job of somebody else,
// to have that one sent to further minions: it is refused, and so it is in a journal of an older
// program.
func TestAKnownIdDoesNotPutAJobOnMoreMinions(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1")
	kept, err := q.Put(Item{ID: jid(1), Load: []byte("mine"), Minions: []string{"web1", "db1"},
		Expires: begin.Add(time.Hour)})
	if !errors.Is(err, ErrConflict) || len(kept) > 0 {
		t.Errorf("Put = %v, %v, want ErrConflict", kept, err)
	}
	if !q.Has(jid(1)) || q.Has(jid(2)) {
		t.Error("Has does not tell what waits")
	}
	if err := q.write(record{Op: opPut, ID: jid(1), Load: []byte("mine"), Minions: []string{"db1"},
		Expires: begin.Add(time.Hour).UnixMicro()}, true); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	q = open(t, dir, c, Options{})
	want(t, "entries", told(q.Entries()), "9:web1")
	if item, _, ok := q.Next("web1", ""); !ok || string(item.Load) != "load 1" {
		t.Errorf("Next = %+v, %v", item, ok)
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	q, _, _ := newQueue(t, Options{PerMinion: 2, Total: 4, Bytes: 100})
	q.puts(t, 0, "web1")
	q.puts(t, 1, "web1")
	kept, err := q.Put(Item{ID: jid(2), Owner: Owner{Full: true}, Load: []byte("x"),
		Minions: []string{"web1", "web2", "web3", "web4"}, Expires: begin.Add(time.Hour)})
	if err != nil || !slices.Equal(kept, []string{"web2", "web3"}) {
		t.Errorf("Put = %v, %v, want those for whom there is room", kept, err)
	}
	if kept, err := q.Put(Item{ID: jid(3), Minions: []string{"web9"},
		Expires: begin.Add(time.Hour)}); !errors.Is(err, ErrFull) {
		t.Errorf("Put into a full queue = %v, %v", kept, err)
	}
	ends(t, q, 2, "web2", true)
	if kept, err := q.Put(Item{ID: jid(3), Load: make([]byte, 200), Minions: []string{"web9"},
		Expires: begin.Add(time.Hour)}); !errors.Is(err, ErrFull) {
		t.Errorf("Put of a large load = %v, %v", kept, err)
	}
	q.puts(t, 3, "web9")
}

func TestJobsExpire(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1", "web2")
	c.now = begin.Add(time.Hour)
	if _, _, ok := q.Next("web1", ""); ok {
		t.Error("an expired job is handed out")
	}
	for _, expected := range []string{"9:web1 9:web2", ""} {
		cancelled, expired, err := q.Sweep()
		if err != nil || len(cancelled) > 0 {
			t.Fatalf("Sweep = %v, %v", cancelled, err)
		}
		want(t, "expired", told(expired), expected)
	}
	if q.Len() != 0 {
		t.Errorf("%d entries are left", q.Len())
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "after opening again", told(open(t, dir, c, Options{}).Entries()), "")
}

// TestOthersListAndCancel does what the runners queue.list and queue.cancel do, beside a running
// master and without one.
func TestOthersListAndCancel(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1", "web2")
	q.puts(t, 2, "web1")
	list := func() string {
		t.Helper()
		entries, err := List(dir)
		if err != nil {
			t.Fatal(err)
		}
		return told(entries)
	}
	cancel := func(id job.ID, minions ...string) string {
		t.Helper()
		entries, err := Cancel(dir, id, minions...)
		if err != nil {
			t.Fatal(err)
		}
		return told(entries)
	}
	want(t, "list", list(), "9:web1 9:web2 50:web1")
	want(t, "cancel", cancel(jid(1), "web2", "nobody"), "9:web2")
	want(t, "cancel again", cancel(jid(1), "web2"), "")
	want(t, "cancel a stranger", cancel(jid(7)), "")
	want(t, "list before the master has done it", list(), "9:web1 50:web1")
	cancelled, _, err := q.Sweep()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "cancelled", told(cancelled), "9:web2")
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "cancel without a master", cancel(jid(1)), "9:web1")
	want(t, "list without a master", list(), "50:web1")
	q = open(t, dir, c, Options{})
	if _, _, err := q.Sweep(); err != nil {
		t.Fatal(err)
	}
	want(t, "after the start", told(q.Entries()), "50:web1")
	left, err := filepath.Glob(filepath.Join(dir, dirName, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v, want the journal alone", left, err)
	}
	if entries, err := List(t.TempDir()); err != nil || len(entries) > 0 {
		t.Errorf("List of no queue = %v, %v", entries, err)
	}
}

// TestOthersCancelInSteps reads what others cancel and executes it apart. Until it is settled it is asked
// again, also after a restart.
func TestOthersCancelInSteps(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1", "web2", "web3")
	if _, err := Cancel(dir, jid(1), "web1", "web2"); err != nil {
		t.Fatal(err)
	}
	asked := func(minions ...string) Cancellation {
		t.Helper()
		list, err := q.Cancellations()
		if err != nil || len(list) != 1 || list[0].ID != jid(1) || !slices.Equal(list[0].Minions, minions) {
			t.Fatalf("Cancellations = %+v, %v, want %v", list, err, minions)
		}
		return list[0]
	}
	asked("web1", "web2")
	if gone, err := q.Drop(jid(1), "web1", "nobody"); err != nil || told(gone) != "9:web1" {
		t.Errorf("Drop = %s, %v", told(gone), err)
	}
	if gone, err := q.Drop(jid(1)); err != nil || len(gone) > 0 {
		t.Errorf("Drop of no minions = %s, %v", told(gone), err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	q = open(t, dir, c, Options{})
	one := asked("web2")
	if err := errors.Join(q.Settle(one), q.Settle(one)); err != nil {
		t.Error(err)
	}
	if list, err := q.Cancellations(); err != nil || len(list) > 0 {
		t.Errorf("after Settle: %+v, %v", list, err)
	}
	want(t, "entries", told(q.Entries()), "9:web2 9:web3")
	c.now = begin.Add(time.Hour)
	if over, err := q.Expire(); err != nil || told(over) != "9:web2 9:web3" || q.Len() != 0 {
		t.Errorf("Expire = %s, %v", told(over), err)
	}
}

func TestWithdrawUndoesBegin(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1", "web2")
	for _, minion := range []string{"web1", "web2"} {
		begins(t, q, 1, minion, true)
	}
	for range 2 {
		if err := errors.Join(q.Withdraw(jid(1), "web1"), q.Withdraw(jid(1), "nobody")); err != nil {
			t.Fatal(err)
		}
		if q.Begun(jid(1), "web1") || !q.Begun(jid(1), "web2") || q.Begun(jid(1), "nobody") {
			t.Errorf("entries %s", told(q.Entries()))
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		q = open(t, dir, c, Options{})
	}
	want(t, "entries", told(q.Entries()), "9:web1 9:web2!")
}

// TestCutAtEveryByte cuts the journal as an end of the machine would, at each of its bytes: what
// was there before the change that was cut is there, the queue opens and takes what comes.
func TestCutAtEveryByte(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	file := filepath.Join(dir, dirName, journalName)
	states := map[int]string{0: ""} // by the length of the journal
	step := func() {
		t.Helper()
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		states[len(body)-1] = told(q.Entries()) // its end is not needed
	}
	q.puts(t, 1, "web1", "web2")
	step()
	begins(t, q, 1, "web1", true)
	step()
	q.puts(t, 2, "web1")
	step()
	ends(t, q, 1, "web1", true)
	step()
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	expected := ""
	for n := range len(whole) + 1 {
		if s, ok := states[n]; ok {
			expected = s
		}
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		q := open(t, dir, c, Options{})
		want(t, fmt.Sprintf("cut at %d", n), told(q.Entries()), expected)
		q.puts(t, 3, "db1")
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		q = open(t, dir, c, Options{})
		want(t, fmt.Sprintf("cut at %d, after a change", n), told(q.Entries()),
			strings.TrimSpace(expected+" 51:db1"))
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamageCostsOneChange damages each byte of a journal in turn: the changes of other lines are
// there.
func TestDamageCostsOneChange(t *testing.T) {
	var whole []byte
	for n := range 3 {
		line, err := record{Op: opPut, ID: jid(n), Minions: []string{"web1"},
			Expires: begin.UnixMicro()}.encode()
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, line...)
	}
	for n := range whole {
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0x04
		s := newState()
		if _, _, err := replayLines(bytes.NewReader(damaged), s); err != nil {
			t.Fatal(err)
		}
		if s.entries < 1 || s.entries == 1 && whole[n] != '\n' {
			t.Errorf("byte %d damaged: %d of 3 jobs are left", n, s.entries)
		}
	}
}

// TestTheJournalStaysSmall puts and takes many jobs.
func TestTheJournalStaysSmall(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 0, "web1", "web2")
	begins(t, q, 0, "web1", true)
	for n := range 3 * renewFrom {
		if err := q.write(record{Op: opPut, ID: jid(1 + n%2), Load: []byte("x"),
			Minions: []string{"db1"}, Expires: begin.Add(time.Hour).UnixMicro()}, false); err != nil {
			t.Fatal(err)
		}
		ends(t, q, 1+n%2, "db1", true)
	}
	if q.journal.lines > renewFrom+1 {
		t.Errorf("the journal has %d lines", q.journal.lines)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "after opening again", told(open(t, dir, c, Options{}).Entries()), "8:web1! 8:web2")
}

// TestAFailedWriteKeepsNothing has the journal fail: the caller is told, nothing is queued, and
// later changes are read.
func TestAFailedWriteKeepsNothing(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1")
	f := q.journal.f
	readOnly, err := os.Open(filepath.Join(dir, dirName, journalName))
	if err != nil {
		t.Fatal(err)
	}
	q.journal.f = readOnly
	if kept, err := q.Put(Item{ID: jid(2), Minions: []string{"web1"},
		Expires: begin.Add(time.Hour)}); err == nil || len(kept) > 0 {
		t.Errorf("Put = %v, %v", kept, err)
	}
	if ok, err := q.Begin(jid(1), "web1"); err == nil || ok {
		t.Errorf("Begin = %v, %v", ok, err)
	}
	q.journal.f = f
	want(t, "entries", told(q.Entries()), "9:web1")
	q.puts(t, 3, "web2")
	if err := errors.Join(q.Close(), readOnly.Close()); err != nil {
		t.Fatal(err)
	}
	want(t, "after opening again", told(open(t, dir, c, Options{}).Entries()), "9:web1 51:web2")
}

// syncless is a file that takes writes and cannot bring them to disk.
type syncless struct{ file }

func (syncless) Sync() error { return errors.New("the disk is gone") }

// TestFailedChangeDoesNotReappear has the disk fail after the write: what was refused
// is not there after a start.
func TestFailedChangeDoesNotReappear(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1")
	f := q.journal.f
	q.journal.f = syncless{f}
	if kept, err := q.Put(Item{ID: jid(2), Owner: Owner{Full: true}, Minions: []string{"web1"},
		Expires: begin.Add(time.Hour)}); err == nil || len(kept) > 0 {
		t.Errorf("Put = %v, %v", kept, err)
	}
	want(t, "after opening beside it", told(open(t, dir, c, Options{}).Entries()), "9:web1")
	q.journal.f = f
	q.puts(t, 3, "web2")
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "after opening again", told(open(t, dir, c, Options{}).Entries()), "9:web1 51:web2")
}

// TestOneUserCannotTakeTheWholeQueue has users without all rights queue as much as they can: by
// minion, in all and in bytes there is room for others, and for root, also after a start.
func TestOneUserCannotTakeTheWholeQueue(t *testing.T) {
	o := Options{PerMinion: 8, Total: 40, Bytes: 4000}
	q, dir, c := newQueue(t, o)
	n := 0
	put := func(who string, full bool, size int, minions ...string) int {
		t.Helper()
		n++
		kept, err := q.Put(Item{ID: jid(n), Owner: Owner{Name: who, Full: full},
			Load: make([]byte, size), Minions: minions, Expires: begin.Add(time.Hour)})
		if err != nil && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		return len(kept)
	}
	fill := func(who string, minions ...string) (kept int) {
		for range 50 {
			kept += put(who, false, 1, minions...)
		}
		return kept
	}
	if got := fill("jane", "web1"); got != 2 {
		t.Errorf("jane has %d jobs for one minion", got)
	}
	if got := fill("joe", "web1") + fill("jim", "web1") + fill("jack", "web1"); got != 4 {
		t.Errorf("others have %d jobs more for it", got)
	}
	if got := put("root", true, 1, "web1"); got != 1 {
		t.Error("there is no room for root on that minion")
	}
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprint("db", i))
	}
	if got := fill("jane", many...); got != 8 {
		t.Errorf("jane has %d entries more", got)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	q = open(t, dir, c, o)
	if got := fill("jane", many...); got != 0 {
		t.Errorf("jane has %d entries more after a start", got)
	}
	fill("joe", many...)
	fill("jim", many...)
	fill("jack", many...)
	if got := q.Len(); got != 30 {
		t.Errorf("those without all rights and root's one have %d entries", got)
	}
	if got := put("root", true, 1, many...); got != 10 {
		t.Errorf("there is room for %d of root", got)
	}
	q, _, _ = newQueue(t, o)
	if first, second := put("jane", false, 900, "web1"), put("jane", false, 200,
		"web2"); first != 1 || second != 0 {
		t.Errorf("loads of 900 and 200 bytes: %d, %d", first, second)
	}
	ends(t, q, n-1, "web1", true)
	if put("jane", false, 200, "web2") != 1 {
		t.Error("what is done counts still")
	}
}

// TestForgetTakesAllOfAMinion forgets a minion whose key was deleted.
func TestForgetTakesAllOfAMinion(t *testing.T) {
	q, dir, c := newQueue(t, Options{})
	q.puts(t, 1, "web1", "web2")
	q.puts(t, 2, "web1")
	gone, err := q.Forget("web1")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "gone", told(gone), "9:web1 50:web1")
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "after opening again", told(open(t, dir, c, Options{}).Entries()), "9:web2")
}

func FuzzReplay(f *testing.F) {
	line, err := record{Op: opPut, ID: jid(1), Minions: []string{"web1"}, Load: []byte("x")}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte("00000000 {}\n\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newState()
		if _, _, err := replayLines(bytes.NewReader(text), s); err != nil {
			t.Fatal(err)
		}
		if n := len(s.all()); n != s.entries {
			t.Errorf("%d entries, %d counted", n, s.entries)
		}
	})
}
