package minion_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// formOf are the functions that fetch one kind of modules, and the directories of the kinds.
var formOf = map[string]string{
	"sync_beacons": "beacons", "sync_clouds": "clouds", "sync_engines": "engines",
	"sync_executors": "executors", "sync_grains": "grains",
	"sync_log_handlers": "log_handlers", "sync_matchers": "matchers", "sync_modules": "modules",
	"sync_output": "output", "sync_outputters": "output", "sync_pillar": "pillar",
	"sync_proxymodules": "proxy", "sync_renderers": "renderers",
	"sync_returners": "returners", "sync_sdb": "sdb", "sync_serializers": "serializers",
	"sync_states": "states", "sync_thorium": "thorium", "sync_utils": "utils",
}

// onlyMasterless are those that a minion with a master refuses.
var onlyMasterless = map[string]bool{"sync_pillar": true}

// layModules writes a module of each kind, and what is none.
func layModules(t *testing.T, dir string) {
	t.Helper()
	for _, form := range formOf {
		lay(t, dir, "_"+form+"/my.py", "# Python\n", "_"+form+"/sub/two.py", "# Python\n", "_"+form+
			"/README.txt", "none\n")
	}
}

// TestSyncFromAMaster fetches each kind twice; the second time there is nothing new.
func TestSyncFromAMaster(t *testing.T) {
	mdir := testsalt.Dir(t)
	layModules(t, filepath.Join(mdir, "srv"))
	cfg := testsalt.MasterConfig(mdir)
	cfg.FileRoots = data.NewMap("base", []any{filepath.Join(mdir, "srv")})
	f := &fleet{master: testsalt.StartMaster(t, cfg), dir: testsalt.Dir(t)}
	f.events = f.master.Listen(t)
	f.minion = testsalt.StartMinion(t, written(t, f, "{}"))
	f.await(t, "salt/minion/web1/start")
	checkSync(t, filepath.Join(f.dir, "cache"), false, func(fun string) *data.Map {
		return f.await(t, "salt/job/"+
			f.order(t, client.Request{Fun: fun, Arg: []any{"saltenv=base"}})+"/ret/web1")
	})
}

// TestSyncWithoutAMaster does the same from the minion's own file_roots.
func TestSyncWithoutAMaster(t *testing.T) {
	f := &fleet{master: testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t))), dir: testsalt.Dir(t)}
	f.events = f.master.Listen(t)
	layModules(t, filepath.Join(f.dir, "srv"))
	f.minion = testsalt.StartMinion(t,
		written(t, f, "{file_client: local, file_roots: {base: ["+filepath.Join(f.dir, "srv")+"]}}"))
	f.await(t, "salt/minion/web1/start")
	checkSync(t, filepath.Join(f.dir, "cache"), true, func(fun string) *data.Map { return f.run(t, fun) })
}

// written returns the configuration of a minion of a fleet with more options, by a file.
func written(t *testing.T, f *fleet, more string) *config.Minion {
	t.Helper()
	usual := testsalt.MinionConfig(f.dir, "web1", f.master.Address)
	lay(t, f.dir, "conf/minion", fmt.Sprintf("id: web1\nroot_dir: %s\nmaster: %s\nmaster_port: %d\npki_dir: /pki\ncachedir: /cache\nsock_dir: /run\nextension_modules: /cache/extmods\n"+
		"acceptance_wait_time: 1\ninclude: more\n", f.dir, usual.Master[0], usual.MasterPort),
		"conf/more", more)
	cfg, _, err := config.LoadMinion(filepath.Dir(usual.ConfFile), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func checkSync(t *testing.T, cache string, local bool, run func(fun string) *data.Map) {
	t.Helper()
	for fun, form := range formOf {
		dir := filepath.Join(cache, "extmods", form)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		first, second := run("saltutil."+fun), run("saltutil."+fun)
		if onlyMasterless[fun] && !local {
			if text := data.Str(first.Value("return")); !strings.Contains(text,
				"modules can only be synced to masterless minions") {
				t.Errorf("%s with a master: %s", fun, text)
			}
			continue
		}
		if got, want := data.Repr(first.Value("return")), "['"+form+".my', '"+form+".sub.two']"; got != want {
			t.Errorf("%s = %s, want %s", fun, got, want)
		}
		if got := data.Repr(second.Value("return")); got != "[]" {
			t.Errorf("%s again = %s", fun, got)
		}
		for name, there := range map[string]bool{"my.py": true, "sub/two.py": true, "README.txt": false} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
				t.Errorf("%s: extmods/%s/%s: %v", fun, form, name, err)
			}
		}
	}
}
