package state_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// write puts files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// startPair starts a master with the options in text and its minion web1.
func startPair(t *testing.T, dir, text string) *client.Local {
	t.Helper()
	write(t, dir, map[string]string{"m/master": text + fmt.Sprintf("root_dir: %[1]s/m\ninterface: 127.0.0.1\npki_dir: /pki\ncachedir: /cache\nsock_dir: /run\n"+
		"pidfile: /pid\nauto_accept: true\n", dir)})
	cfg, _, err := config.LoadMaster(filepath.Join(dir, "m"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	cfg.PublishPort, cfg.RetPort, cfg.User = 0, 0, "root"
	m := testsalt.StartMaster(t, cfg)
	bus := m.Listen(t, "salt/minion/")
	write(t, dir, map[string]string{"n/minion": fmt.Sprintf("id: web1\nmaster: 127.0.0.1\nmaster_port: %d\npublish_port: %d\nroot_dir: %s/n\n"+
		"pki_dir: /pki\ncachedir: /cache\nsock_dir: /run\nextension_modules: /cache/extmods\nstate_top: not-mine.sls\n", cfg.RetPort, cfg.PublishPort, dir)})
	mc, _, err := config.LoadMinion(filepath.Join(dir, "n"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	testsalt.StartMinion(t, mc)
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	return m.Client(t)
}

// TestUnderAMaster checks that the master's current options, files and pillar are used, and that
// the master merges the pillar data of a call.
func TestUnderAMaster(t *testing.T) {
	dir := testsalt.Dir(t)
	write(t, dir, map[string]string{
		"srv/own.sls":       "base:\n  group:\n    - match: nodegroup\n    - web.*\n",
		"srv/web/init.sls":  "x:\n  test.nop:\n    - name: {{ pillar.d.a }} {{ salt['pillar.get']('d:b') }} {{ saltenv }}\n",
		"srv/web/two.sls":   "include: [.three]\ny:\n  test.nop: []\n",
		"srv/web/three.sls": "z:\n  test.nop: []\n",
		"pillar/own.sls":    "base:\n  '*': [p]\n",
		"pillar/p.sls":      "d: {a: 1, b: 2}\n",
	})
	local := startPair(t, dir, fmt.Sprintf("file_roots: {base: [%[1]s/srv]}\npillar_roots: {base: [%[1]s/pillar]}\nstate_top: own.sls\nnodegroups: {group: web1}\n", dir))
	expect := func(want string, code int, fun string, arg ...any) {
		t.Helper()
		job, err := local.Publish(t.Context(),
			client.Request{Target: "web1", Kind: "glob", Fun: fun, Arg: arg, Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range local.Results(t.Context(), job,
			client.Wait{Timeout: 20 * time.Second, Gather: 5 * time.Second}) {
			if got := data.Repr(r.Value); err != nil || got != want || r.Retcode != int64(code) {
				t.Errorf("%s %s\n got %s, return code %d, %v\nwant %s", fun, data.Repr(arg), got,
					r.Retcode, err, want)
			}
		}
	}
	low := func(name string) string {
		return "[{'state': 'test', 'name': '" + name +
			"', '__sls__': 'web', '__env__': 'base', '__id__': 'x', 'order': 10000, 'fun': 'nop'}]"
	}
	expect("{'base': ['web.*']}", 0, "state.show_top")
	expect("['web.three', 'web.two']", 0, "state.show_states")
	expect(low("1 2 base"), 0, "state.show_low_sls", "web")
	over := data.NewMap("__kwarg__", true, "pillar", data.NewMap("d", data.NewMap("b", int64(3))))
	expect(low("1 3 base"), 0, "state.show_low_sls", "web", over)
	expect(low("1 2 base"), 0, "state.show_low_sls", "web")
	expect("[\"No matching sls found for 'nothere' in env 'base'\"]", 1, "state.show_sls", "nothere")
	expect("True", 0, "state.id_exists", "y,z", "web.two")
	write(t, dir, map[string]string{"pillar/p.sls": "d: {{ broken.x }}\n"})
	expect(`"ERROR: Pillar failed to render. Additional info follows:\n\n- Rendering SLS 'p' failed. Please see master log for details."`, 1,
		"state.show_sls", "web")
	write(t, dir, map[string]string{"pillar/p.sls": "d: {a: 5, b: 6}\n"})
	expect(low("5 6 base"), 0, "state.show_low_sls", "web")
}
