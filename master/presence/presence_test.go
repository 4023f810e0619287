package presence

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/daemon"
)

func TestReadBelievesARunningMasterAlone(t *testing.T) {
	dir := t.TempDir()
	if ids, err := Read(dir); !errors.Is(err, ErrNoMaster) {
		t.Errorf("Read of an empty folder = %v, %v", ids, err)
	}
	free, err := daemon.LockFile(filepath.Join(dir, LockName))
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := Read(dir); !errors.Is(err, ErrNoMaster) {
		t.Errorf("Read beside a master that writes no file = %v, %v", ids, err)
	}
	hosts := map[string]string{"web2": "10.0.0.2", "größe": "::1"}
	all := map[string]Connection{"web2": {"10.0.0.2", time.Unix(1e9, 0)}, "größe": {Host: "::1"}}
	for range 2 {
		if err := Write(dir, all); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := Read(dir); err != nil || !slices.Equal(ids, []string{"größe", "web2"}) {
		t.Errorf("Read = %v, %v", ids, err)
	}
	if got, err := ReadConnections(dir); err != nil || cmp.Diff(all, got) != "" {
		t.Errorf("ReadConnections = %v, %v", got, err)
	}
	if err := free(); err != nil {
		t.Fatal(err)
	}
	if ids, err := Read(dir); !errors.Is(err, ErrNoMaster) {
		t.Errorf("Read after the master's end = %v, %v", ids, err)
	}
	if got, err := Last(dir); err != nil || cmp.Diff(got, hosts) != "" {
		t.Errorf("Last = %v, %v", got, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".presence-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLastRefusesInvalidFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := Last(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	name := filepath.Join(dir, fileName)
	for text, want := range map[string]int{"": -1, "{": -1, "[]": -1, "{}": 0,
		`{"minions":{"a/b":"h","..":"h","web1":"h"}}`: 1} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Last(dir)
		if want < 0 && err == nil || want >= 0 && (err != nil || len(got) != want) {
			t.Errorf("Last of %q = %v, %v", text, got, err)
		}
	}
	if err := errors.Join(os.Remove(name), os.Symlink("/dev/zero", name)); err != nil {
		t.Fatal(err)
	}
	if got, err := Last(dir); err == nil {
		t.Errorf("Last of a device = %v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"minions":{"web1":"10.0.0.1"}}`))
	f.Add([]byte(`{"minions":{"web1":"10.0.0.1"},"since":{"web1":1000000000}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parse(text); err == nil && c.Minions == nil {
			t.Error("neither minions nor an error")
		}
	})
}
