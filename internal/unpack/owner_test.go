//go:build unix

package unpack

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A set-user-id program only becomes one when it has its final owner: it is never set-user-id root,
// not even for a moment.
func TestSetUserIDComesAfterTheOwner(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	var before fs.FileMode
	f.Owner = func(*tar.Header) (int, int) {
		info, err := os.Lstat(filepath.Join(dir, "x"))
		if err != nil {
			t.Fatal(err)
		}
		before = info.Mode()
		return os.Getuid(), os.Getgid()
	}
	for range 2 {
		err = f.Put(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Mode: 0o4755, Size: 4},
			strings.NewReader("text"))
		info, statErr := os.Lstat(filepath.Join(dir, "x"))
		if err != nil || statErr != nil || info.Mode() != 0o755|fs.ModeSetuid {
			t.Errorf("it is %v, %v, %v", info, err, statErr)
		}
		if before&fs.ModeSetuid != 0 {
			t.Errorf("before it has its owner it is %v", before)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
