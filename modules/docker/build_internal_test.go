package docker

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestSwappedFile checks that a file which has become a link since its directory was read is not followed.
func TestSwappedFile(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	file, outside := filepath.Join(dir, "file"), filepath.Join(other, "secret")
	for _, path := range []string{file, filepath.Join(dir, "inside"), outside} {
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range []string{outside, "inside"} {
		p, err := newPacker(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer p.root.Close()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		info, err := entries[0].Info()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, file); err != nil {
			t.Fatal(err)
		}
		if err := p.add(tar.NewWriter(io.Discard), file, "file", known{entries[0], info}); err == nil {
			t.Errorf("a link to %s was followed", target)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// known is an entry whose description is that of an earlier time.
type known struct {
	os.DirEntry
	info os.FileInfo
}

func (k known) Info() (os.FileInfo, error) { return k.info, nil }
