package keyfiles

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newJournal(t testing.TB) *journal {
	t.Helper()
	j, err := openJournal(filepath.Join(t.TempDir(), "state"))
	must(t, err)
	must(t, j.begin(false))
	must(t, j.marked())
	return j
}

func (j *journal) again(t testing.TB) *journal {
	t.Helper()
	other, err := openJournal(j.path)
	must(t, err)
	return other
}

func TestJournalKeepsWhatItIsTold(t *testing.T) {
	j := newJournal(t)
	for i := range 5000 {
		b := base{generation: uint64(i), keys: sumsOf(set{Denied: "x"})}
		must(t, j.set([]string{"web1", "web 2", "é"}[i%3], b))
	}
	if j.lines > 2*len(j.bases)+spareLines+1 {
		t.Errorf("%d lines for %d ids", j.lines, len(j.bases))
	}
	crashed := j.again(t)
	for id, b := range crashed.bases {
		if !b.doubt {
			t.Errorf("%s is certain after a crash", id)
		}
	}
	must(t, j.end())
	if got := j.again(t); !maps.Equal(got.bases, j.bases) || len(got.bases) != 3 || !got.owns(j.mark()) {
		t.Errorf("read %v, want %v", got.bases, j.bases)
	}
	must(t, j.set("web1", base{generation: 9999}))
	if !j.again(t).bases["web1"].doubt {
		t.Error("a change after the end is certain")
	}
}

// TestJournalSurvivesACutAnywhere cuts the file at each byte: what is left is an older state.
func TestJournalSurvivesACutAnywhere(t *testing.T) {
	j := newJournal(t)
	for i := range 4 {
		must(t, j.set("web1", base{generation: uint64(i + 1)}))
	}
	must(t, j.end())
	text, err := os.ReadFile(j.path)
	must(t, err)
	last := uint64(0)
	for n := range len(text) {
		must(t, os.WriteFile(j.path, text[:n], 0o600))
		b, known := j.again(t).bases["web1"]
		if b.generation < last || b.generation > 4 || known && !b.doubt {
			t.Fatalf("the first %d bytes of %d: %+v after generation %d", n, len(text), b, last)
		}
		last = b.generation
	}
	if last != 4 {
		t.Errorf("the last generation read is %d", last)
	}
}

func TestJournalIsWrittenAnewIfItVanishes(t *testing.T) {
	j := newJournal(t)
	must(t, j.set("web1", base{generation: 1}))
	must(t, os.Remove(j.path))
	must(t, j.set("web2", base{generation: 2}))
	if got := j.again(t).bases; got["web1"].generation != 1 || got["web2"].generation != 2 {
		t.Errorf("read %v", got)
	}
	dir := filepath.Dir(j.path)
	must(t, os.RemoveAll(dir))
	if err := j.set("web1", base{generation: 3}); err == nil {
		t.Error("no error without a directory")
	}
	must(t, os.Mkdir(dir, 0o700))
	must(t, j.set("web2", base{generation: 4}))
	if got := j.again(t).bases; got["web1"].generation != 3 || got["web2"].generation != 4 {
		t.Errorf("after a failed write: read %v", got)
	}
}

// TestSessionChangesWithoutALoss ends between the steps of the start of a session.
func TestSessionChangesWithoutALoss(t *testing.T) {
	j := newJournal(t)
	must(t, j.set("web1", base{generation: 1}))
	first := j.mark()
	must(t, j.begin(true))
	second := j.mark()
	cut := j.again(t)
	if !cut.owns(first) || !cut.owns(second) || cut.get("web1") == nil {
		t.Errorf("before all marks are written, those of %v and %v are known", cut.owns(first),
			cut.owns(second))
	}
	must(t, cut.begin(true))
	if cut.mark() != second {
		t.Error("the session changes twice, which marks can tell of once")
	}
	must(t, cut.marked())
	if got := cut.again(t); got.owns(first) || !got.owns(second) || got.owns("") {
		t.Error("after all marks are written, those of the last session are known")
	}
	must(t, cut.begin(false))
	if got := cut.again(t); got.owns(second) || len(got.bases) > 0 {
		t.Error("something is left of a session that was dropped")
	}
}

func FuzzJournal(f *testing.F) {
	j := &journal{path: filepath.Join(f.TempDir(), "state"), session: "s", bases: map[string]base{}}
	for _, text := range []string{"", "x", line("a", base{generation: 1, keys: sumsOf(set{Accepted: "k"})}),
		seal(journalEnd), seal(journalMarked)} {
		f.Add([]byte(seal(journalTitle+" s -") + text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := &journal{path: j.path, bases: map[string]base{}}
		got.parse(text)
		if got.rewrite() != nil {
			t.Fatal("cannot be written")
		}
		again := got.again(t)
		for id, b := range got.bases {
			b.doubt = true
			if again.bases[id] != b {
				t.Fatalf("%q: %+v was written, %+v read", id, b, again.bases[id])
			}
		}
		if len(again.bases) != len(got.bases) {
			t.Fatalf("%d of %d", len(again.bases), len(got.bases))
		}
	})
}
