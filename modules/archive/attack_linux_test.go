package archive_test

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// zipped writes an archive with these members; a name with -> makes a link.
func zipped(t testing.TB, to io.Writer, names ...string) {
	t.Helper()
	z := zip.NewWriter(to)
	for _, name := range names {
		from, target, link := strings.Cut(name, " -> ")
		h := &zip.FileHeader{Name: from, Method: zip.Deflate}
		body := "evil"
		if h.SetMode(0o644); link {
			body = target
			h.SetMode(0o777 | os.ModeSymlink)
		}
		w, err := z.CreateHeader(h)
		if err == nil && !strings.HasSuffix(name, "/") {
			_, err = io.WriteString(w, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsUnzippedOutside(t *testing.T) {
	for _, names := range [][]string{
		{"a", "../evil"}, {"l -> ..", "l/evil"}, {"l -> OUT", "l/evil"}, {"top/l -> ../..",
			"top/l/evil"}, {"/../evil"}, {"a/../../evil"}, {"l -> OUT", "l/d/"},
	} {
		t.Run(strings.Join(names, ","), func(t *testing.T) {
			h := newHost(t)
			for i := range names {
				names[i] = strings.ReplaceAll(names[i], "OUT", h.dir)
			}
			f, err := os.Create(h.at("z.zip"))
			if err != nil {
				t.Fatal(err)
			}
			zipped(t, f, names...)
			f.Close()
			if got := h.twice("unzip", []any{h.at("z.zip"), h.at("in")}); !strings.HasPrefix(got,
				"error: Exception encountered unpacking zipfile: ") {
				t.Errorf("it returned %s", got)
			}
			for _, name := range []string{"evil", "d"} {
				if _, err := os.Lstat(h.at(name)); err == nil {
					t.Errorf("%s was made outside", name)
				}
			}
			if strings.Contains(names[len(names)-1], "..") {
				if _, err := os.Lstat(h.at("in/a")); err == nil {
					t.Error("a part was unpacked before the archive was refused")
				}
			}
		})
	}
}

// An archive that claims more than the disk can hold is rejected.
func TestBomb(t *testing.T) {
	h := newHost(t)
	f, err := os.Create(h.at("z.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	if _, err := z.CreateRaw(&zip.FileHeader{Name: "bomb", Method: zip.Deflate,
		UncompressedSize64: 1 << 60}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	got := h.twice("unzip", []any{h.at("z.zip"), h.at("in")})
	if !strings.Contains(got, "bytes free") {
		t.Errorf("it returned %s", got)
	}
}

// Files are written with the rights of another user, and belong to them.
func TestRunas(t *testing.T) {
	need.Root(t, "to give files to another user")
	who, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("there is no user nobody")
	}
	uid, _ := strconv.Atoi(who.Uid)
	h := newHost(t)
	open := h.dir
	for open != "/tmp" && open != "/" {
		os.Chmod(open, 0o755)
		open = open[:max(1, strings.LastIndexByte(open, '/'))]
	}
	for _, dir := range []string{"theirs", "mine"} {
		if err := os.Mkdir(h.at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(h.at("theirs"), uid, -1); err != nil {
		t.Fatal(err)
	}
	h.write("src/top/a", "one\n", 0o644)
	h.want(h.twice("zip", []any{h.at("theirs/z.zip"), "top/a"}, "cwd", h.at("src"), "runas",
		"nobody"), "['top/a']")
	h.want(h.twice("unzip", []any{h.at("theirs/z.zip"), h.at("theirs/out")}, "runas", "nobody"), "['top/a']")
	info, err := os.Stat(h.at("theirs/out/top/a"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(uid) {
		t.Errorf("%v, %v", info, err)
	}
	if got := h.twice("unzip", []any{h.at("theirs/z.zip"), h.at("mine")}, "runas",
		"nobody"); !strings.Contains(got, "ermission denied") {
		t.Errorf("into a directory of root it returned %s", got)
	}
	h.want(h.twice("zip", []any{h.at("theirs/z.zip"), "top"}, "cwd", h.at("src"), "runas",
		"nosuchuser"), "error: User 'nosuchuser' does not exist")
	if v, err := os.ReadDir(h.at("mine")); err != nil || len(v) != 0 {
		t.Errorf("%s, %v", data.Repr(len(v)), err)
	}
}
