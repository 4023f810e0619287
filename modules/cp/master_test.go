package cp_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestUnderAMaster gets files from our own master, pushes one back, and syncs modules.
func TestUnderAMaster(t *testing.T) {
	dir := testsalt.Dir(t)
	srv, out := filepath.Join(dir, "srv"), filepath.Join(dir, "out")
	big := make([]byte, 5<<20+123)
	noise := rand.NewChaCha8([32]byte{})
	_, _ = noise.Read(big)
	for name, body := range map[string][]byte{"big": big, "d/a": []byte("a"),
		"d/sub/b": []byte("b"), "d/zero": nil, "_modules/mine.py": []byte("x = 1\n"),
		"run.sh": []byte("#!/bin/sh\necho ran $1\n")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(srv, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(srv, name), body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := testsalt.MasterConfig(dir + "/m")
	cfg.FileRoots, cfg.FileRecv = data.NewMap("base", []any{srv}), true
	m := testsalt.StartMaster(t, cfg)
	bus := m.Listen(t, "salt/minion/")
	mc := minionConfig(t, dir+"/n", m.Config)
	testsalt.StartMinion(t, mc)
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	local := m.Client(t)
	call := func(fun string, arg ...any) any {
		t.Helper()
		job, err := local.Publish(t.Context(),
			client.Request{Target: "web1", Kind: "glob", Fun: fun, Arg: arg, Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range local.Results(t.Context(), job,
			client.Wait{Timeout: 20 * time.Second, Gather: 5 * time.Second}) {
			if err != nil || r.Missing {
				t.Fatalf("%s: %v", fun, err)
			}
			return r.Value
		}
		t.Fatalf("%s: no answer", fun)
		return nil
	}
	same := func(file string, want []byte) {
		t.Helper()
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d: %v", file, len(got), len(want), err)
		}
	}
	for _, gzip := range []any{nil, int64(1)} {
		dest := filepath.Join(out, data.Str(gzip))
		for range 2 {
			if got := call("cp.get_file", "salt://big", dest,
				data.NewMap("__kwarg__", true, "makedirs", true, "gzip", gzip)); got != dest {
				t.Fatalf("cp.get_file = %v", got)
			}
			same(dest, big)
		}
	}
	if got := call("cp.get_dir", "salt://d", out); !data.Equal(got,
		[]any{out + "/d/a", out + "/d/sub/b", out + "/d/zero"}) {
		t.Errorf("cp.get_dir = %v", got)
	}
	if got := call("cp.push", out+"/None"); got != true {
		t.Errorf("cp.push = %v", got)
	}
	same(filepath.Join(cfg.CacheDir, "minions", "web1", "files", out, "None"), big)
	if got := call("cp.cache_master"); len(got.([]any)) != 6 {
		t.Errorf("cp.cache_master = %v", got)
	}
	same(filepath.Join(mc.CacheDir, "files", "base", "big"), big)
	for i, want := range []any{[]any{"modules.mine"}, []any{}} {
		if got := call("saltutil.sync_modules"); !data.Equal(got, want) {
			t.Errorf("saltutil.sync_modules, run %d = %v", i, got)
		}
	}
	ran := call("cmd.script", "salt://run.sh", "well").(*data.Map)
	if ran.Text("stdout") != "ran well" || ran.Value("retcode") != int64(0) {
		t.Errorf("cmd.script = %s", data.Repr(ran))
	}
}

// minionConfig returns the configuration of minion web1, which keeps all its files below dir,
// including synced modules.
func minionConfig(t *testing.T, dir string, master *config.Master) *config.Minion {
	t.Helper()
	text := fmt.Sprintf("id: web1\nmaster: 127.0.0.1\nmaster_port: %d\npublish_port: %d\nroot_dir: %s\npki_dir: /pki\ncachedir: /cache\nsock_dir: /run\n"+
		"extension_modules: /cache/extmods\n", master.RetPort, master.PublishPort, dir)
	if err := errors.Join(os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "minion"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMinion(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
