//go:build unix && !small

package testsalt_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// received returns the next return that a returner sends to a socket.
func received(t *testing.T, l *net.UnixListener) map[string]any {
	t.Helper()
	if err := l.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatalf("wait for the returner: %v", err)
	}
	defer c.Close()
	var ret map[string]any
	if err := json.NewDecoder(c).Decode(&ret); err != nil {
		t.Fatal(err)
	}
	return ret
}

// TestOwnPluginsOfAMinion lets a minion use a user's own executor, matcher and returner: for jobs of
// its master, and the returner for a scheduled job as well.
func TestOwnPluginsOfAMinion(t *testing.T) {
	need.Time(t, "it starts Python for each job")
	need.Program(t, "python3")
	dir := testsalt.Dir(t)
	c := &conductor{dir: dir}
	socket := filepath.Join(dir, "s")
	for name, text := range map[string]string{
		"n/own/executors/wrap.py": "def execute(opts, data, func, args, kwargs):\n" +
			"    if isinstance(func, str):\n        return 'performed %s %s' % (func, args)\n" +
			"    return {'id': opts['id'], 'fun': data['fun'], 'got': func(*args, **kwargs)}\n\n\n" +
			"def allow_missing_func(function):\n    return function.startswith('own.')\n",
		"n/own/returners/wire.py": "import json\nimport socket\n\n\ndef returner(ret):\n" +
			"    with socket.socket(socket.AF_UNIX) as s:\n        s.connect('" + socket + "')\n" +
			"        s.sendall(json.dumps({k: ret.get(k) for k in ('fun', 'return', 'schedule', 'ret_config')}).encode())\n",
		"n/own/matchers/list_match.py": "def match(tgt, opts=None, minion_id=None):\n" +
			"    return 'web1' in tgt and 'never' not in tgt\n",
	} {
		c.write(t, name, text)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c.m = testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m")))
	bus := c.m.Listen(t, "salt/minion/web1/start")
	minionWith(t, filepath.Join(dir, "n"), c.m.Address, "extension_modules: "+filepath.Join(dir, "n", "own"),
		"module_executors: [wrap]", "schedule: {j: {function: test.echo, args: [planned], "+
			"run_on_start: true, days: 9, returner: wire}}")
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	if ret := received(t, l); ret["return"] != "planned" || ret["schedule"] != "j" {
		t.Errorf("the returner of the scheduled job got %v", ret)
	}

	local := c.m.Client(t)
	never, err := local.Publish(t.Context(), client.Request{Target: []any{"web1", "never"}, Kind: "list",
		Fun: "test.ping", Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got := data.Repr(c.order(t, "test.echo", "x")); got != "{'id': 'web1', 'fun': 'test.echo', 'got': 'x'}" {
		t.Errorf("the executor returned %s", got)
	}
	if got := data.Repr(c.order(t, "own.thing", "x")); got != "'performed own.thing ['x']'" && got != `"performed own.thing ['x']"` {
		t.Errorf("the executor of a missing function returned %s", got)
	}
	if got := data.Repr(c.order(t, "other.thing")); !strings.Contains(got, "'other.thing' is not available.") {
		t.Errorf("a missing function returned %s", got)
	}
	// the minion has decided on the first job before it received the others
	folder, err := never.ID.Dir("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(c.m.Config.CacheDir, "jobs", folder, "web1")); err == nil {
		t.Error("the minion returned for a target that its own matcher refuses")
	}

	if _, err := local.Publish(t.Context(), client.Request{Target: "web1", Kind: "glob", Fun: "test.ping",
		Ret: "wire", Kwargs: data.NewMap("ret_config", "alternative"), Timeout: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	ret := received(t, l)
	if got := fmt.Sprint(ret["return"]); ret["fun"] != "test.ping" || ret["ret_config"] != "alternative" ||
		got != "map[fun:test.ping got:true id:web1]" {
		t.Errorf("the returner got %v", ret)
	}
}

// TestSyncedFilesCountAtOnce calls a function right after the sync that fetched it, and a function
// that a later sync adds to its file. A call before the sync must not hide it.
func TestSyncedFilesCountAtOnce(t *testing.T) {
	need.Time(t, "it starts Python for each job")
	need.Program(t, "python3")
	dir := testsalt.Dir(t)
	c := &conductor{dir: dir}
	c.write(t, "srv/top.sls", "{}\n")
	c.m = testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), "file_roots: {base: ["+dir+"/srv]}"))
	c.local = c.m.Client(t)
	bus := c.m.Listen(t, "salt/minion/web1/start")
	minionWith(t, filepath.Join(dir, "n"), c.m.Address)
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	for i := range 6 {
		fun, more := fmt.Sprintf("late%d.f", i), fmt.Sprintf("late%d.more", i)
		file := fmt.Sprintf("srv/_modules/late%d.py", i)
		if got := data.Str(c.order(t, fun)); !strings.Contains(got, "is not available") {
			t.Errorf("%s before the sync: %s", fun, got)
		}
		c.write(t, file, "def f():\n    return 'first'\n")
		c.order(t, "saltutil.sync_modules")
		if got := c.order(t, fun); got != "first" {
			t.Errorf("%s after the sync: %v", fun, got)
		}
		c.write(t, file, "def f():\n    return 'second'\n\ndef more():\n    return 'new'\n")
		c.order(t, "saltutil.sync_all")
		if got := c.order(t, more); got != "new" {
			t.Errorf("%s after the second sync: %v", more, got)
		}
	}
}
