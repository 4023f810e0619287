package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/process"
)

// archive returns a tar archive with these members; a name that ends in a slash is a directory, and
// one with -> a link.
func archive(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range members {
		h := &tar.Header{Name: name, Mode: 0o640, ModTime: time.Unix(1e9, 0), Typeflag: tar.TypeReg, Size: 4}
		from, to, link := strings.Cut(name, " -> ")
		linked, old, hard := strings.Cut(name, " => ")
		switch {
		case link:
			h.Name, h.Linkname, h.Typeflag, h.Size = from, to, tar.TypeSymlink, 0
		case hard:
			h.Name, h.Linkname, h.Typeflag, h.Size = linked, old, tar.TypeLink, 0
		case strings.HasSuffix(name, "/"):
			h.Typeflag, h.Size, h.Mode = tar.TypeDir, 0, 0o550
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, "text"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t testing.TB, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func extract(ctx context.Context, file, dir string) (names []string, err error) {
	tr, err := Open(ctx, file, process.Run)
	if err != nil {
		return nil, err
	}
	folder, err := OpenFolder(dir)
	if err != nil {
		return nil, errors.Join(err, tr.Close())
	}
	err = tr.Each(func(h *tar.Header) error {
		names = append(names, h.Name)
		return folder.Put(h, tr)
	})
	return names, errors.Join(err, folder.Close(), tr.Close())
}

func TestExtractIsTheSameTwice(t *testing.T) {
	plain := archive(t, "top/", "top/f", "top/deep/g", "top/l -> f", "top/h => top/f")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(plain)
	z.Close()
	for name, content := range map[string]func(t *testing.T) []byte{
		"plain": func(*testing.T) []byte { return plain },
		"gzip":  func(*testing.T) []byte { return zipped.Bytes() },
		"xz":    func(t *testing.T) []byte { return program(t, plain, "xz") },
		"bzip2": func(t *testing.T) []byte { return program(t, plain, "bzip2") },
		"lzma":  func(t *testing.T) []byte { return program(t, plain, "xz", "--format=lzma") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Cleanup(func() { os.Chmod(filepath.Join(dir, "top"), 0o700) })
			for range 2 {
				os.Chmod(filepath.Join(dir, "top"), 0o700) // for tests of users that are not root
				names, err := extract(t.Context(), write(t, content(t)), dir)
				if err != nil || strings.Join(names, " ") != "top top/f top/deep/g top/l top/h" {
					t.Fatalf("got %v, %v", names, err)
				}
				check(t, dir)
			}
		})
	}
}

func check(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "top/f"))
	if err != nil || info.Mode() != 0o640 || info.ModTime().Unix() != 1e9 {
		t.Errorf("f: %v, %v", info, err)
	}
	if other, err := os.Stat(filepath.Join(dir, "top/h")); err != nil || !os.SameFile(info, other) {
		t.Errorf("h is not f: %v", err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "top/l")); err != nil || to != "f" {
		t.Errorf("l leads to %q, %v", to, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "top")); err != nil || info.Mode().Perm() != 0o550 {
		t.Errorf("top: %v, %v", info, err)
	}
	if body, err := os.ReadFile(filepath.Join(dir, "top/deep/g")); err != nil || string(body) != "text" {
		t.Errorf("g holds %q, %v", body, err)
	}
}

// program returns the output of a program for its input.
func program(t *testing.T, in []byte, argv ...string) []byte {
	t.Helper()
	need.Program(t, argv[0])
	cmd := exec.Command(argv[0], append(argv[1:], "-c")...)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWritesStayInside(t *testing.T) {
	for _, members := range [][]string{
		{"../evil"}, {"a/../../evil"}, {"l -> ..", "l/evil"}, {"l -> OUT", "l/evil"}, {"d/",
			"d/l -> ../..", "d/l/evil"},
		{"h => ../secret", "h"}, {"l -> OUT/secret", "h => l", "h"}, {"l -> OUT", "l/evil/"},
		{"l -> OUT/secret", "l/"}, {"..", "evil"},
	} {
		t.Run(strings.Join(members, ","), func(t *testing.T) {
			out := t.TempDir()
			dir := filepath.Join(out, "in")
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "d"), 0o700) }) // else only root can remove it
			if err := errors.Join(os.Mkdir(dir, 0o755),
				os.WriteFile(filepath.Join(out, "secret"), []byte("old"), 0o600)); err != nil {
				t.Fatal(err)
			}
			for i := range members {
				members[i] = strings.ReplaceAll(members[i], "OUT", out)
			}
			if names, err := extract(t.Context(), write(t, archive(t, members...)), dir); err == nil {
				// only names inside are allowed, such as a link that is replaced
				t.Logf("extracted %v", names)
			}
			list, err := os.ReadDir(out)
			if err != nil || len(list) != 2 {
				t.Errorf("outside there is %v, %v", list, err)
			}
			info, err := os.Stat(filepath.Join(out, "secret"))
			if body, readErr := os.ReadFile(filepath.Join(out, "secret")); err != nil ||
				readErr != nil || string(body) != "old" || info.Mode() != 0o600 {
				t.Errorf("the file outside is %q %v, %v", body, info, err)
			}
		})
	}
}

// An absolute name is one below the directory.
func TestAbsoluteNamesAreBelow(t *testing.T) {
	dir := t.TempDir()
	if _, err := extract(t.Context(), write(t, archive(t, "/etc/f")), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "etc/f")); err != nil {
		t.Error(err)
	}
}

// A file that is a symbolic link is replaced, not followed.
func TestLinksAreReplaced(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.WriteFile(other, []byte("old"), 0o600),
		os.Symlink(other, filepath.Join(dir, "f"))); err != nil {
		t.Fatal(err)
	}
	if _, err := extract(t.Context(), write(t, archive(t, "f")), dir); err != nil {
		t.Fatal(err)
	}
	if body, _ := os.ReadFile(other); string(body) != "old" {
		t.Errorf("the other file is %q", body)
	}
	if info, err := os.Lstat(filepath.Join(dir, "f")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("f is %v, %v", info, err)
	}
}

func TestRefused(t *testing.T) {
	var fifo bytes.Buffer
	w := tar.NewWriter(&fifo)
	w.WriteHeader(&tar.Header{Name: "p", Typeflag: tar.TypeFifo})
	w.Close()
	for name, c := range map[string]struct {
		content []byte
		want    error
	}{
		"no archive":   {[]byte(strings.Repeat("junk", 500)), ErrFormat},
		"half of gzip": {[]byte("\x1f\x8bjunk"), ErrFormat},
		"a pipe":       {fifo.Bytes(), nil},
		"cut off":      {archive(t, "f", "g")[:1400], nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := extract(t.Context(), write(t, c.content), t.TempDir())
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRoom(t *testing.T) {
	dir := t.TempDir()
	folder, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, known := freeBytes(dir); !known {
		t.Skip("this system does not tell how much is free")
	}
	if err := folder.Room(1 << 60); err == nil {
		t.Error("there is room for 2^60 bytes")
	}
	if err := folder.Room(1); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := folder.Needs("f", 8); n != 3 {
		t.Errorf("f needs %d", n)
	}
}

func TestProgramThatFails(t *testing.T) {
	tr := OpenWith(t.Context(), []string{"sh", "-c", "echo broken >&2; exit 3"}, process.Run)
	err := tr.Each(func(*tar.Header) error { return nil })
	var program *ProgramError
	if !errors.As(err, &program) || program.Said != "broken" {
		t.Errorf("got %v", err)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}

// Whatever an archive contains, nothing is written outside the directory.
func FuzzExtract(f *testing.F) {
	f.Add(archive(f, "top/", "top/f", "top/l -> f", "top/h => top/f"))
	f.Add(archive(f, "l -> ..", "l/evil", "../evil"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.HasPrefix(content, []byte("\xfd7z")) || bytes.HasPrefix(content, []byte("\x5d\x00\x00")) {
			return // the program's
		}
		out := t.TempDir()
		dir := filepath.Join(out, "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		_, _ = extract(t.Context(), write(t, content), dir)
		if list, err := os.ReadDir(out); err != nil || len(list) != 1 {
			t.Errorf("outside there is %v, %v", list, err)
		}
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
			os.Chmod(path, 0o700)
			return nil
		})
	})
}

// TestEmpty tests an empty file, which is no archive, plain or compressed, and an archive without
// members, which is one.
func TestEmpty(t *testing.T) {
	var packed bytes.Buffer
	if err := gzip.NewWriter(&packed).Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{"nothing": {"", ErrFormat}, "nothing packed": {packed.String(), ErrFormat},
		"no members": {strings.Repeat("\x00", 1024), nil}} {
		file := filepath.Join(t.TempDir(), "a.tar")
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			a, err := Open(t.Context(), file, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Each(func(*tar.Header) error { return nil }); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
