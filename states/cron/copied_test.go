//go:build unix

package cron

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// A full disk leaves no copy of a crontab behind.
func TestCopyThatFailsIsRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	limited(t, 16)
	if path, err := copied(strings.Repeat("secret", 10)); err == nil {
		t.Fatalf("a file of more bytes than may be written is at %s", path)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// limited limits the size of files that this process writes until the test ends.
func limited(t *testing.T, size uint64) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	now := before
	now.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	})
}
