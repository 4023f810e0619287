package syndic

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/pki"
)

const jid job.ID = "20260301120000000000"

func openTestJournal(t *testing.T, dir string, now func() time.Time) *journal {
	t.Helper()
	log := logrus.New()
	log.SetOutput(t.Output())
	j, err := openJournal(dir, now, log)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// orderOnce begins a job, and reports whether it is to be ordered.
func orderOnce(t *testing.T, j *journal, dir string) bool {
	t.Helper()
	fresh, err := j.order(jid, dir, digest{1})
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

func TestJournalOutlastsARestart(t *testing.T) {
	dir := t.TempDir()
	j := openTestJournal(t, dir, time.Now)
	if !orderOnce(t, j, "top_4506") || orderOnce(t, j, "other_4506") {
		t.Error("a job is not ordered once")
	}
	j.acknowledge(jid, []string{"web1", "web2"})
	j.acknowledge(jid, []string{"web3"})
	j = openTestJournal(t, dir, time.Now)
	if r, ok := j.find(jid); !ok || r.dir != "top_4506" || !r.ordered || r.done {
		t.Errorf("record %+v", r)
	}
	if orderOnce(t, j, "top_4506") {
		t.Error("the job is ordered again")
	}
	for _, id := range []string{"web1", "web2", "web3"} {
		if !j.isAcknowledged(jid, id) {
			t.Errorf("the return of %s is forgotten", id)
		}
	}
	if j.isAcknowledged(jid, "web4") || len(j.unfinished()) != 1 {
		t.Error("a return was acknowledged that never came")
	}
	seen, _ := j.find(jid)
	j.finish(jid, seen)
	if j = openTestJournal(t, dir, time.Now); len(j.unfinished()) != 0 {
		t.Error("the job is not finished")
	}
}

// TestJournalWithALineBrokenOff has part of an id at the end of the file: it names no minion, nor does it
// with what is added later.
func TestJournalWithALineBrokenOff(t *testing.T) {
	dir := t.TempDir()
	j := openTestJournal(t, dir, time.Now)
	orderOnce(t, j, "top")
	j.acknowledge(jid, []string{"web1", "web22"})
	file := filepath.Join(dir, "top", string(jid))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b[:len(b)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	j = openTestJournal(t, dir, time.Now)
	j.acknowledge(jid, []string{"3"})
	j = openTestJournal(t, dir, time.Now)
	got := fmt.Sprint(j.acknowledged(jid))
	if got != "map[3:true web1:true]" {
		t.Errorf("acknowledged: %s", got)
	}
}

func TestDamagedJournalIsNotOrderedAgain(t *testing.T) {
	dir := t.TempDir()
	j := openTestJournal(t, dir, time.Now)
	orderOnce(t, j, "top")
	if err := os.WriteFile(filepath.Join(dir, "top", string(jid)), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if j = openTestJournal(t, dir, time.Now); orderOnce(t, j, "top") {
		t.Error("the job is ordered again")
	}
}

func TestJournalDropsOldJobs(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	j := openTestJournal(t, dir, func() time.Time { return now })
	orderOnce(t, j, "top")
	now = now.Add(journalAge + time.Second)
	j.clean()
	if _, ok := j.find(jid); ok {
		t.Error("an old job is in memory")
	}
	if _, err := os.Stat(filepath.Join(dir, "top", string(jid))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its file: %v", err)
	}
}

func TestOrderTakesOverAJobThatIsOnlyKnown(t *testing.T) {
	j := openTestJournal(t, t.TempDir(), time.Now)
	if err := j.expect(jid, "one", "web1"); err != nil {
		t.Fatal(err)
	}
	if !orderOnce(t, j, "two") {
		t.Error("the job is not ordered")
	}
	if r, _ := j.find(jid); r.dir != "two" {
		t.Errorf("its returns go to %s", r.dir)
	}
	j.ended(jid, digest{1}, refusal)
	if !orderOnce(t, j, "one") {
		t.Error("a job that could not be ordered is not ordered again")
	}
}

func TestJournalForgetsOnlyMemory(t *testing.T) {
	j := openTestJournal(t, t.TempDir(), time.Now)
	orderOnce(t, j, "top")
	j.acknowledge(jid, []string{"web1"})
	j.forgetKnown(jid)
	if j.total != 0 || !j.isAcknowledged(jid, "web1") {
		t.Errorf("%d ids in memory, acknowledged: %v", j.total, j.isAcknowledged(jid, "web1"))
	}
}

// smallJournal returns a journal for few jobs, and a function that names the nth job.
func smallJournal(t *testing.T, dir string, most room) (*journal, func(n int) job.ID) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(t.Output())
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	j, err := openJournalOf(dir, func() time.Time { now = now.Add(time.Second); return now }, log, most)
	if err != nil {
		t.Fatal(err)
	}
	return j, func(n int) job.ID { return job.NewID(time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC)) }
}

func (j *journal) has(id job.ID) bool {
	_, ok := j.find(id)
	return ok
}

func files(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestFullJournalTakesOrders floods a journal with jobs of the lower master itself, and then with orders.
func TestFullJournalTakesOrders(t *testing.T) {
	dir := t.TempDir()
	j, id := smallJournal(t, dir, room{jobs: 20, others: 10, minion: 5})
	if fresh, err := j.order(id(0), "top", digest{}); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	for n := 1; n <= 60; n++ {
		m := fmt.Sprintf("web%d", n%4)
		if err := j.expect(id(n), "top", m); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			j.acknowledge(id(n), []string{m})
		}
	}
	if j.count.others != 10 || !j.has(id(0)) || !j.has(id(60)) || j.has(id(1)) {
		t.Errorf("%d jobs that were not ordered; the order is there: %v", j.count.others, j.has(id(0)))
	}
	for n := 100; n < 130; n++ {
		if fresh, err := j.order(id(n), "top", digest{}); err != nil || !fresh {
			t.Fatalf("order %d: %v, %v", n, fresh, err)
		}
		j.ended(id(n), digest{}, given)
	}
	if len(j.jobs) != 20 || j.count.others != 0 || !j.has(id(129)) || files(t, filepath.Join(dir, "top")) != 20 {
		t.Errorf("%d jobs, %d of them not ordered, %d files", len(j.jobs), j.count.others, files(t, filepath.Join(dir, "top")))
	}
	if err := j.expect(id(500), "top", "web1"); err == nil {
		t.Error("a job that nobody ordered pushes an order out")
	}
}

// TestJournalDropsFinishedJobsFirst has older unfinished jobs, and a newer finished one.
func TestJournalDropsFinishedJobsFirst(t *testing.T) {
	j, id := smallJournal(t, t.TempDir(), room{jobs: 20, others: 3, minion: 20})
	for n := range 3 {
		if err := j.expect(id(n), "top", "web1"); err != nil {
			t.Fatal(err)
		}
	}
	j.acknowledge(id(2), []string{"web1"})
	if err := j.expect(id(3), "top", "web1"); err != nil {
		t.Fatal(err)
	}
	if j.has(id(2)) || !j.has(id(0)) || !j.has(id(3)) {
		t.Error("the finished job is not the one that was dropped")
	}
	if err := j.expect(id(4), "top", "web1"); err != nil || j.has(id(0)) || !j.has(id(1)) {
		t.Errorf("the oldest job is not the one that was dropped; error %v", err)
	}
}

func TestOneMinionDoesNotFillTheJournal(t *testing.T) {
	j, id := smallJournal(t, t.TempDir(), room{jobs: 100, others: 50, minion: 5})
	if err := j.expect(id(0), "top", "web1"); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 40; n++ {
		if err := j.expect(id(n), "top", "noisy"); err != nil {
			t.Fatal(err)
		}
	}
	if j.count.open["noisy"] != 5 || !j.has(id(0)) || !j.has(id(39)) || j.has(id(34)) {
		t.Errorf("unfinished jobs by minion: %v", j.count.open)
	}
}

// TestSurplusFilesOfTheJournalAreRemoved opens a journal with more files than it has room for, and with
// two files of one job.
func TestSurplusFilesOfTheJournalAreRemoved(t *testing.T) {
	dir := t.TempDir()
	j, id := smallJournal(t, dir, room{jobs: 100, others: 50, minion: 50})
	for n := range 40 {
		if err := j.expect(id(n), "top", "web1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.order(id(50), "other", digest{1}); err != nil {
		t.Fatal(err)
	}
	text := []byte(`{"time":"2026-03-01T12:00:00Z"}` + "\n")
	for _, name := range []string{string(id(50)), ".new-1"} {
		if err := os.WriteFile(filepath.Join(dir, "top", name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, _ = smallJournal(t, dir, room{jobs: 100, others: 10, minion: 50})
	if r, ok := j.find(id(50)); !ok || r.dir != "other" || len(j.jobs) != 11 {
		t.Errorf("%d jobs, the order is of %q", len(j.jobs), r.dir)
	}
	if n := files(t, filepath.Join(dir, "top")); n != 10 {
		t.Errorf("%d files, want 10", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "top", string(id(70))), text, 0o600); err != nil {
		t.Fatal(err)
	}
	j.clean()
	if n := files(t, filepath.Join(dir, "top")); n != 10 {
		t.Errorf("%d files after clean, want 10", n)
	}
}

// TestStepsOutlastARestart orders two steps of a batch, and a third one after a restart.
func TestStepsOutlastARestart(t *testing.T) {
	dir := t.TempDir()
	step := func(j *journal, d digest) bool {
		fresh, err := j.order(jid, "top", d)
		if err != nil {
			t.Fatal(err)
		}
		if fresh {
			j.ended(jid, d, given)
		}
		return fresh
	}
	j := openTestJournal(t, dir, time.Now)
	if !step(j, digest{1}) || !step(j, digest{2}) || step(j, digest{1}) {
		t.Error("the steps are not ordered once each")
	}
	j = openTestJournal(t, dir, time.Now)
	if step(j, digest{1}) || step(j, digest{2}) || !step(j, digest{3}) || step(j, digest{3}) {
		t.Error("after a restart the steps are not ordered once each")
	}
	if fresh, err := j.order(jid, "top", digest{4}); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	j.ended(jid, digest{4}, refusal)
	j = openTestJournal(t, dir, time.Now)
	if !step(j, digest{4}) || step(j, digest{2}) {
		t.Error("a refused step is not ordered again, or another one is")
	}
}

func TestStepsAreBounded(t *testing.T) {
	j := openTestJournal(t, t.TempDir(), time.Now)
	r := &record{dir: "top", at: time.Now(), ordered: true, orders: make([]digest, maxSteps)}
	if _, err := j.begin(jid, r); err != nil {
		t.Fatal(err)
	}
	if fresh, err := j.order(jid, "top", digest{9}); !fresh || err != nil || len(r.orders) != maxSteps {
		t.Errorf("a step more is ordered: %v, %v; %d are kept", fresh, err, len(r.orders))
	}
}

func TestDigestTellsTargetsApart(t *testing.T) {
	of := func(target any) digest {
		d, err := digestOf(&job.Publication{JID: jid, Fun: []string{"test.ping"}, Target: target, TargetType: "list"})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if of([]any{"a"}) != of([]any{"a"}) || of([]any{"a"}) == of([]any{"b", "c"}) {
		t.Error("digests")
	}
}

// TestFinishedJobIsOpenedAgain has further steps and returns of a job of which nothing was left to send.
func TestFinishedJobIsOpenedAgain(t *testing.T) {
	dir := t.TempDir()
	open := func(j *journal) bool { return len(j.unfinished()) == 1 }
	finish := func(j *journal) {
		seen, _ := j.find(jid)
		j.finish(jid, seen)
	}
	j := openTestJournal(t, dir, time.Now)
	orderOnce(t, j, "top")
	finish(j)
	if !open(j) {
		t.Error("a job is finished while the lower master has an order for it")
	}
	j.ended(jid, digest{1}, given)
	j.acknowledge(jid, []string{"web1"})
	if _, err := j.order(jid, "top", digest{2}); err != nil {
		t.Fatal(err)
	}
	j.ended(jid, digest{2}, nobody)
	if !open(j) {
		t.Error("a step that matches nobody finishes the job")
	}
	if _, err := j.order(jid, "top", digest{3}); err != nil {
		t.Fatal(err)
	}
	j.ended(jid, digest{3}, refusal)
	if !j.isAcknowledged(jid, "web1") {
		t.Error("a refused step deletes what was acknowledged")
	}
	finish(j)
	if open(j) {
		t.Error("the job is not finished")
	}
	if err := j.expect(jid, "top", "web2"); err != nil || !open(j) {
		t.Errorf("a new return does not open the job; error %v", err)
	}
	if j = openTestJournal(t, dir, time.Now); !open(j) {
		t.Error("after a restart the job is finished")
	}
	seen, _ := j.find(jid)
	if err := j.expect(jid, "top", "web3"); err != nil {
		t.Fatal(err)
	}
	j.finish(jid, seen)
	if !open(j) {
		t.Error("a job is finished in spite of a return that came meanwhile")
	}
}

func TestOrderThatMatchesNobodyIsFinished(t *testing.T) {
	j := openTestJournal(t, t.TempDir(), time.Now)
	orderOnce(t, j, "top")
	j.ended(jid, digest{1}, nobody)
	if n := len(j.unfinished()); n != 0 || orderOnce(t, j, "top") {
		t.Errorf("%d unfinished jobs", n)
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte("{\"time\":\"2026-03-01T12:00:00Z\",\"ordered\":true}\n\nweb1\t\nweb2\t\n.done\t\n"))
	f.Add([]byte("{\"time\":\"2026-03-01T12:00:00Z\"}\nweb1\t"))
	f.Add([]byte("{\"time\":\"2026-03-01T12:00:00Z\"}\n.order 00112233445566778899aabbccddeeff\t\n.undo 00\t\n.more\t\n"))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseEntry(b)
		if err != nil {
			if !errors.Is(err, errJournal) {
				t.Errorf("error %v", err)
			}
			return
		}
		for _, id := range e.Minions {
			if pki.ValidID(id) != nil || !strings.Contains(string(b), id+lineEnd) {
				t.Errorf("id %q", id)
			}
		}
	})
}
