package saltutil_test

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/saltutil"
)

// TestRunnerAndWheelOnTheMastersHost calls runners and wheel functions on a minion that shares its
// host with the master; the master runs them.
func TestRunnerAndWheelOnTheMastersHost(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := testsalt.Dir(t)
	m := testsalt.StartMaster(t, testsalt.MasterConfig(filepath.Join(dir, "m")))
	cfg := testsalt.MinionConfig(filepath.Join(dir, "n"), "web1", m.Address)
	conf := "interface: 127.0.0.1\nret_port: " + m.Address[strings.LastIndex(m.Address, ":")+1:] +
		"\ncachedir: " + m.Config.CacheDir +
		"\nsock_dir: " + m.Config.SockDir + "\nuser: root\n"
	for name, text := range map[string]string{"master": conf, "minion": "id: web1\n"} {
		if err := os.MkdirAll(filepath.Dir(cfg.ConfFile), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(cfg.ConfFile), name), []byte(text),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	starts := m.Listen(t, "salt/minion/web1/start")
	testsalt.StartMinion(t, cfg)
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	h := &house{t: t, master: m}
	h.expect("runner", h.run("saltutil.runner", "manage.up"), []any{"web1"})
	h.expect("runner with arguments",
		h.run("saltutil.runner", "test.arg", data.NewMap("__kwarg__", true, "arg", []any{"a"},
			"kwarg", data.NewMap("b", int64(2)))),
		data.NewMap("args", []any{"a"}, "kwargs", data.NewMap("b", int64(2))))
	full := h.run("saltutil.runner",
		"test.arg", data.NewMap("__kwarg__", true, "full_return", true)).(*data.Map)
	if full.Text("fun") != "runner.test.arg" || full.Value("success") != true ||
		full.Text("user") != me.Username {
		t.Errorf("full_return gives %s", data.Repr(full))
	}
	wheel := h.run("saltutil.wheel", "key.list", "accepted").(*data.Map)
	h.expect("wheel", wheel.Value("return"), data.NewMap("minions", []any{"web1"}))
	h.expect("wheel success", wheel.Value("success"), true)
	var fields []string
	for name := range wheel.All() {
		fields = append(fields, name.(string))
	}
	if got := strings.Join(fields, " "); got != "fun jid user fun_args _stamp return success" {
		t.Errorf("wheel answers with %s", got)
	}
	h.expect("wheel arguments", wheel.Value("fun_args"), []any{"accepted"})
	result := func(fun string) client.Result {
		_, wait := h.start("saltutil.runner", fun)
		return wait()
	}
	if r := result("no.such"); !strings.Contains(data.Str(r.Value), "no.such") {
		t.Errorf("a runner that there is not: %s", data.Repr(r.Value))
	}
}

// TestRunnerWithoutAMaster runs on a host without a master.
func TestRunnerWithoutAMaster(t *testing.T) {
	cfg := testsalt.MinionConfig(t.TempDir(), "web1", "127.0.0.1:1")
	env := &loader.Env{Opts: cfg.Map(),
		Host: loader.Host{Order: cli.OrderOf(cfg, func(string) string { return "" })}}
	r, err := loader.NewRegistry(env, []loader.Plugin{saltutil.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, fun := range []string{"saltutil.runner", "saltutil.wheel"} {
		if _, err := r.Invoke(t.Context(), fun, []any{"test.arg"}, nil); err == nil ||
			!strings.Contains(err.Error(), "located on the master") {
			t.Errorf("%s: %v", fun, err)
		}
	}
}
