package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A watched is a list of files below a directory, and a watch over them.
type watched struct {
	*fileWatch
	dir  string
	list []string
}

func watch(t *testing.T, names ...string) *watched {
	w := &watched{dir: t.TempDir()}
	for _, name := range names {
		w.write(t, name, "old")
		w.age(t, name)
		w.list = append(w.list, filepath.Join(w.dir, name))
	}
	w.fileWatch = newFileWatch(func() []string { return w.list })
	return w
}

func (w *watched) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// age makes a file one that was written a while ago.
func (w *watched) age(t *testing.T, name string) {
	t.Helper()
	ago := time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(w.dir, name), ago, ago); err != nil {
		t.Fatal(err)
	}
}

// looks checks what so many looks report.
func (w *watched) looks(t *testing.T, want ...bool) {
	t.Helper()
	for i, reported := range want {
		if got := w.changed(); got != reported {
			t.Errorf("look %d reports %t", i+1, got)
		}
	}
}

func TestEditsAreReportedOnceTheyRest(t *testing.T) {
	w := watch(t, "master")
	w.looks(t, false, false)
	w.write(t, "master", "edit")
	w.looks(t, false)
	w.write(t, "master", "more of it")
	w.looks(t, false, true, false)
}

// TestEditsWhileFilesAreReadAreNoticed edits files after they were read and before that is known:
// one that was watched before, one that the reading has found, and one that came in between.
func TestEditsWhileFilesAreReadAreNoticed(t *testing.T) {
	for _, name := range []string{"master", "found", "new"} {
		w := watch(t, "master")
		w.write(t, "found", "a while ago")
		w.age(t, "found")
		w.begin()
		w.write(t, name, "an edit")
		for _, more := range []string{"found", "new"} {
			w.list = append(w.list, filepath.Join(w.dir, more))
		}
		w.end()
		w.looks(t, true, false)
	}
}

// TestFilesThatAreFoundAreNoEdits reads files that were not watched before.
func TestFilesThatAreFoundAreNoEdits(t *testing.T) {
	w := watch(t, "master")
	w.write(t, "found", "a while ago")
	w.age(t, "found")
	w.begin()
	w.list = append(w.list, filepath.Join(w.dir, "found"))
	w.end()
	w.looks(t, false, false)
}
