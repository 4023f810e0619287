//go:build unix

package beacons

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("text"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	f, info, err := OpenFile(file)
	if err != nil || info.Size() != 4 {
		t.Fatalf("file: %v %v", info, err)
	}
	f.Close()
	for _, path := range []string{pipe, dir, "/dev/zero"} {
		if _, _, err := OpenFile(path); !errors.Is(err, errIrregular) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, _, err := OpenFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}
