//go:build unix

package testsalt_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestCVE2015_8034 runs a master and a minion under a umask that hides nothing, and under one that
// hides all (also CVE-2017-8109 and CVE-2020-17490): nobody else may read or write their files.
func TestCVE2015_8034(t *testing.T) {
	for _, umask := range []int{0, 0o077} {
		old := syscall.Umask(umask)
		dir := testsalt.Dir(t)
		leaveFiles(t, dir)
		syscall.Umask(old)
		seen := map[string]bool{}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			seen[e.Name()] = true
			name, mode := strings.TrimPrefix(path, dir), info.Mode().Perm()
			if mode&0o077 != 0 && !mayBeRead(name) || mode&0o022 != 0 ||
				strings.HasSuffix(name, ".pem") && mode&0o300 > 0o200 {
				t.Errorf("umask %03o: %s has mode %v", umask, name, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		for _, name := range []string{".root_key", "master.pem", "minion.pem", "data.p", "mine.p",
			"pushed", "web1"} {
			if !seen[name] {
				t.Errorf("there is no %s: the programs have not done what this looks for", name)
			}
		}
	}
}

// mayBeRead reports whether a file may be world-readable: public keys.
func mayBeRead(name string) bool {
	return strings.HasSuffix(name, ".pub") || strings.Contains(name, "/pki/minions/")
}

// leaveFiles runs a master and a minion until they have stored keys, grains, mine, returns and a
// pushed file.
func leaveFiles(t *testing.T, dir string) {
	t.Helper()
	cfg := testsalt.MasterConfig(dir)
	cfg.FileRecv = true
	m := testsalt.StartMaster(t, cfg)
	bus := m.Listen(t, "salt/minion/")
	own := testsalt.MinionConfig(filepath.Join(dir, "m"), "web1", m.Address)
	minion := testsalt.StartMinion(t, own)
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	l := m.Client(t)
	for _, order := range []client.Request{
		{Fun: "mine.send", Arg: []any{"test.ping"}},
		{Fun: "cp.push", Arg: []any{filepath.Join(own.PKIDir, "minion.pub"), "upload_path=/pushed"}},
		{Fun: "test.ping"},
	} {
		order.Target, order.Kind = "web1", "glob"
		j, err := l.Publish(t.Context(), order)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range l.Results(t.Context(), j,
			client.Wait{Timeout: 20 * time.Second, Gather: 5 * time.Second}) {
			t.Logf("%s: %v %v", order.Fun, r.Value, err)
		}
	}
	if err := minion.Stop(); err != nil {
		t.Error(err)
	}
	m.Stop(t)
}
