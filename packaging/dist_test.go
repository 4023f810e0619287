package packaging

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/need"
)

// TestDistIsReproducible builds the archive of a platform in two directories, with different paths
// and umasks, and checks that they are identical.
func TestDistIsReproducible(t *testing.T) {
	need.Time(t, "it builds the programs twice")
	requires(t, false, "git", "make", "tar", "gzip", "sha256sum")
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	first := copyOfTree(t, sources.Root(t), filepath.Join(t.TempDir(), "one"))
	second := copyOfTree(t, first, filepath.Join(t.TempDir(), "another/folder"))
	make := "make -s dist PLATFORMS=linux/amd64 VERSION=v9.8.7"
	in(t, first, "sh", "-c", "umask 022; "+make)
	in(t, second, "sh", "-c", "umask 077; "+make)
	sums := text(t, filepath.Join(first, "dist/SHA256SUMS"))
	if other := text(t, filepath.Join(second, "dist/SHA256SUMS")); sums != other {
		t.Errorf("sums differ:\n%s%s", sums, other)
	}
	if out := in(t, filepath.Join(first, "dist"), "sha256sum", "-c",
		"SHA256SUMS"); out != "brine-v9.8.7-linux-amd64.tar.gz: OK\n" {
		t.Errorf("sha256sum -c says %q", out)
	}
	checkArchive(t, filepath.Join(first, "dist/brine-v9.8.7-linux-amd64.tar.gz"))
	if runtime.GOOS+"/"+runtime.GOARCH == "linux/amd64" {
		in(t, first, "tar", "-xzf", "dist/brine-v9.8.7-linux-amd64.tar.gz")
		if out := in(t, first, "brine-v9.8.7-linux-amd64/salt-master",
			"--versions-report"); !strings.Contains(out, " Brine: v9.8.7\n") {
			t.Errorf("the master says of its version:\n%s", out)
		}
	}
}

// copyOfTree copies the sources that git tracks, or would add, or all files of a copy.
func copyOfTree(t *testing.T, from, to string) string {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	list := "find . -type f -print0"
	if _, err := os.Stat(filepath.Join(from, ".git")); err == nil {
		list = "git ls-files -z --cached --others --exclude-standard"
	}
	in(t, from, "sh", "-c", list+` | tar --null --ignore-failed-read -cf - -T - | tar -xf - -C "$0"`, to)
	return to
}

// checkArchive checks the entries of an archive.
func checkArchive(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if !unzipped.ModTime.IsZero() || unzipped.Name != "" {
		t.Errorf("gzip keeps the time %v and the name %q", unzipped.ModTime, unzipped.Name)
	}
	top := strings.TrimSuffix(filepath.Base(file), ".tar.gz") + "/"
	var names []string
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(h.Name, top))
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 1700000000 ||
			h.Mode != 0o644 && h.Mode != 0o755 {
			t.Errorf("%s: owner %d:%d (%s), time %v, mode %o", h.Name, h.Uid, h.Gid, h.Uname,
				h.ModTime, h.Mode)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %q", names)
	}
	for _, want := range []string{
		"LICENSE", "NOTICE", "README.md", "VERSION", "conf/master", "conf/minion", "salt",
		"salt-api", "salt-call", "salt-cp", "salt-key", "salt-master", "salt-minion", "salt-syndic",
		"systemd/salt-api.service", "systemd/salt-minion.service", "systemd/salt-syndic.service",
		"sysv/salt-master", "openrc/salt-master", "logrotate/salt-minion",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in the archive", want)
		}
	}
}
