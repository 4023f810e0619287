//go:build linux

package trees

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// packages are those that a tree has in addition to Debian's minimum: an init that boots, and what
// states need.
const packages = "ca-certificates,cron,dbus,git,iproute2,locales,systemd,systemd-sysv"

// A tree is a Debian release in a directory, which is never written to.
type tree struct{ suite, dir string }

// trees creates those of all suites concurrently. BRINE_TREES names a directory that keeps them for
// the next time.
func trees(t *testing.T, suites ...string) []tree {
	t.Helper()
	at := os.Getenv("BRINE_TREES")
	if at == "" {
		at = t.TempDir()
	}
	made, errs := make([]tree, len(suites)), make([]error, len(suites))
	var all sync.WaitGroup
	for i, suite := range suites {
		made[i] = tree{suite, filepath.Join(at, suite)}
		all.Go(func() { errs[i] = made[i].build(t.Context()) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("debootstrap %s: %v", suites[i], err)
		}
	}
	return made
}

// build creates the tree if it does not exist.
func (tr tree) build(ctx context.Context) error {
	if _, err := os.Stat(tr.dir); err == nil {
		return nil
	}
	mirror := os.Getenv("BRINE_MIRROR")
	if mirror == "" {
		mirror = "http://deb.debian.org/debian"
	}
	half := tr.dir + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "debootstrap", "--variant=minbase", "--include="+packages,
		tr.suite, half, mirror)
	if out, err := cmd.CombinedOutput(); err != nil {
		return &said{err, out}
	}
	if err := os.RemoveAll(filepath.Join(half, "var/cache/apt/archives")); err != nil {
		return err
	}
	return os.Rename(half, tr.dir)
}

// said returns the error of a program with its output.
type said struct {
	err error
	out []byte
}

func (s *said) Error() string { return s.err.Error() + "\n" + string(s.out[max(0, len(s.out)-2000):]) }

func (s *said) Unwrap() error { return s.err }

// require skips a test if trees cannot be created, or fails it if all tests are required.
func require(t *testing.T) {
	t.Helper()
	need.Time(t, "it boots Debian systems")
	need.Root(t, "to make trees of Debian")
	need.Program(t, "debootstrap", "unshare", "nsenter")
}
