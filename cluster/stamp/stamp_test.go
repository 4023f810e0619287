package stamp

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func stampOf(t *testing.T, path string) Stamp {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return Of(info)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEachChangeOfAFileShows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	other := path + ".new"
	must(t, os.WriteFile(path, []byte("one"), 0o600))
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	must(t, os.Chtimes(path, old, old))
	before := stampOf(t, path)
	if again := stampOf(t, path); again != before {
		t.Errorf("an unchanged file has the stamps %v and %v", before, again)
	}
	for _, c := range []struct {
		name   string
		change func() error
		linux  bool // only the inode tells
	}{
		{"another size", func() error { return os.WriteFile(path, []byte("one more"), 0o600) }, false},
		{"another time", func() error { return os.Chtimes(path, old, old.Add(time.Second)) }, false},
		{"replaced by one of the same size and time", func() error {
			if err := os.WriteFile(other, []byte("two more"), 0o600); err != nil {
				return err
			}
			if err := os.Chtimes(other, old, old.Add(time.Second)); err != nil {
				return err
			}
			return os.Rename(other, path)
		}, true},
	} {
		must(t, c.change())
		if now := stampOf(t, path); now == before && (!c.linux || runtime.GOOS == "linux") {
			t.Errorf("%s: the stamp stays %v", c.name, now)
		}
		before = stampOf(t, path)
	}
}

func TestAFileIsFreshUntilItsTimeHasSettled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, nil, 0o600))
	s, now := stampOf(t, path), time.Now()
	if !s.IsFresh(now) || s.IsFresh(now.Add(2*Settled)) {
		t.Errorf("a file of now is fresh: now %v, later %v", s.IsFresh(now), s.IsFresh(now.Add(2*Settled)))
	}
	if (Stamp{}).IsFresh(now) || s.IsLink() {
		t.Error("no file is fresh, or a file is a link")
	}
}
