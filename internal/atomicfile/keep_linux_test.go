package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	must(t, Write(file, []byte("first"), Options{Mode: 0o644, Keep: true}))
	checkFile(t, file, "first", 0o644)
	must(t, os.Chmod(file, 0o640))
	if err := syscall.Setxattr(file, "user.brine", []byte("kept"), 0); err != nil &&
		!errors.Is(err, syscall.ENOTSUP) {
		t.Fatal(err)
	}
	want := attributes(file)
	owner := os.Getuid()
	if owner == 0 {
		owner = 4711
		must(t, os.Chown(file, owner, owner))
		must(t, os.Chmod(file, fs.ModeSetuid|0o640))
	}
	for range 2 {
		must(t, Write(file, []byte("second"), Options{Mode: 0o644, Keep: true}))
	}
	checkFile(t, file, "second", 0o640)
	info, err := os.Stat(file)
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != owner {
		t.Errorf("the file belongs to %d, want %d", st.Uid, owner)
	}
	if os.Getuid() == 0 && info.Mode()&fs.ModeSetuid == 0 {
		t.Error("the mode has lost a bit")
	}
	if got := attributes(file); got != want {
		t.Errorf("the attribute is %q, want %q", got, want)
	}
}

func attributes(file string) string {
	value := make([]byte, 64)
	n, err := syscall.Getxattr(file, "user.brine", value)
	if err != nil {
		return ""
	}
	return string(value[:n])
}
