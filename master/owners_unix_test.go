//go:build !windows

package master

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

// TestOwnersOpenOnlyFiles is the regression test of CVE-2025-22242: a pipe, a device or a path in
// place of a job never blocks a worker.
func TestOwnersOpenOnlyFiles(t *testing.T) {
	b := newBench(t, nil, "web1")
	dir := filepath.Join(b.cfg.CacheDir, "publish_auth")
	must(t, os.MkdirAll(dir, 0o700))
	secret := filepath.Join(b.cfg.CacheDir, "secret")
	must(t, os.WriteFile(secret, []byte("web1"), 0o600))
	at := func(n string) string { return filepath.Join(dir, "2026112107453919717"+n) }
	must(t, syscall.Mkfifo(at("0"), 0o600))
	must(t, os.Symlink("/dev/zero", at("1")))
	must(t, os.Symlink(secret, at("2")))
	must(t, os.Mkdir(at("3"), 0o700))
	must(t, os.WriteFile(at("4"), []byte(strings.Repeat("web1", 1000)), 0o600))
	must(t, os.Symlink(at("0"), at("5")))
	for _, jid := range []any{"20261121074539197170", "20261121074539197171",
		"20261121074539197172", "20261121074539197173", "20261121074539197174",
		"20261121074539197175", "20261121074539197179", "../secret", "../../../proc/kmsg", secret,
		"", ".", "req", int64(5), nil, []any{"a"}} {
		if got := b.send(t, "pub_ret", "web1", data.NewMap("cmd", "pub_ret", "jid", jid)); got != "" {
			t.Errorf("jid %s: reply %s", data.Repr(jid), data.Repr(got))
		}
	}
	if got := b.send(t, "pub_ret", "web1", data.NewMap("cmd", "pub_ret")); !data.Equal(got, data.NewMap()) {
		t.Errorf("no jid: reply %s", data.Repr(got))
	}
	must(t, newOwners(b.cfg.CacheDir).clean(time.Now().Add(time.Hour)))
	if _, err := os.Lstat(at("0")); err != nil {
		t.Errorf("what is no file of an owner was removed: %v", err)
	}
}
