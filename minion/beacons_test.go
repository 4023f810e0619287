package minion_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
)

// watched is a beacon that reports the content of a file when it has changed.
type watched struct{}

type content struct{ text string }

func (watched) Validate(config any) (bool, string) {
	if !beacons.Merge(config).Has("file") {
		return false, "no file"
	}
	return true, beacons.Valid
}

func (watched) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	last, _, err := beacons.State[content](ctx)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(beacons.Merge(config).Text("file"))
	if errors.Is(err, os.ErrNotExist) || string(b) == last.text {
		return nil, nil
	}
	last.text = string(b)
	return []*data.Map{data.NewMap("tag", "changed", "text", last.text)}, err
}

// withBeacons are the options of a minion that has the beacon watched.
func withBeacons(o *minion.Options) {
	o.Beacons = []loader.Plugin{beacons.Plugin("watched", "",
		func(*loader.Env) (beacons.Beacon, error) { return watched{}, nil })}
}

func TestBeaconsFireOnTheMaster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	f := startFleetWith(t, func(cfg *config.Minion) {
		cfg.Beacons = data.NewMap("watched", []any{data.NewMap("file", file)})
	}, withBeacons)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	tag := "salt/beacon/web1/watched/changed"
	body := f.await(t, tag)
	if stamp := body.Text("_stamp"); stamp == "" || body.Text("text") != "one" || body.Text("id") != "web1" ||
		body.Len() != 3 {
		t.Errorf("event: %s", data.Repr(body))
	}
	f.give(t, "saltutil.refresh_pillar")
	f.give(t, "saltutil.refresh_beacons")
	write("two") // the first event after the refresh: nothing was forgotten
	if body := f.await(t, tag); body.Text("text") != "two" {
		t.Errorf("event: %s", data.Repr(body))
	}
}

func TestBeaconsOfThePillar(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := startFleetWith(t, nil, withBeacons, func(cfg *config.Master) {
		cfg.PillarRoots = data.NewMap("base", []any{dir})
	})
	for name, text := range map[string]string{"top.sls": "base: {'*': [b]}\n",
		"b.sls": "beacons: {mine: [{beacon_module: watched}, {file: " + file + "}]}\n"} {
		if err := errors.Join(os.MkdirAll(dir, 0o700),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	f.give(t, "saltutil.refresh_pillar")
	if body := f.await(t, "salt/beacon/web1/mine/changed"); body.Text("text") != "one" {
		t.Errorf("event: %s", data.Repr(body))
	}
}

// startOwn starts a minion with a beacon own of its user, whose configuration is [{word: hello}], and
// returns the events of that beacon.
func startOwn(t *testing.T, file, code string) *eventbus.Client {
	t.Helper()
	need.Program(t, "python3")
	dir := testsalt.Dir(t)
	master := testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t)))
	events := master.Listen(t, "salt/beacon/")
	cfg := testsalt.MinionConfig(dir, "web1", master.Address)
	cfg.Beacons = data.NewMap("own", []any{data.NewMap("word", "hello")})
	path := filepath.Join(cfg.ExtensionModules, "beacons", file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(code), 0o700)); err != nil {
		t.Fatal(err)
	}
	testsalt.StartMinion(t, cfg)
	return events
}

// TestBeaconsOfUsersInPython runs a beacon in Python, which keeps its globals between turns.
func TestBeaconsOfUsersInPython(t *testing.T) {
	events := startOwn(t, "own.py", `import salt.utils.beacons
N = 0
def validate(config):
    return True, "Valid beacon configuration"
def beacon(config):
    global N
    N += 1
    c = salt.utils.beacons.list_to_dict(config)
    return [{"tag": c["word"], "n": N, "ping": __salt__["test.ping"](), "first": __context__.setdefault("n", N)}]
`)
	for n := int64(1); n <= 2; n++ {
		body, err := testsalt.AwaitEvent(t, events, "salt/beacon/web1/own/hello").Map()
		if err != nil || body.Value("n") != n || body.Value("ping") != true || body.Value("first") != int64(1) {
			t.Errorf("event %d: %s, %v", n, data.Repr(body), err)
		}
	}
}

// TestBeaconsThatArePrograms runs a program as a beacon, with one process for all turns.
func TestBeaconsThatArePrograms(t *testing.T) {
	events := startOwn(t, "own", `#!/usr/bin/env python3
import json, sys
if sys.argv[1] == "describe":
    print(json.dumps({"functions": {"beacon": {"params": ["config"]}}}))
    sys.exit()
n = 0
for line in sys.stdin:
    n += 1
    word = json.loads(line)["kwargs"]["config"][0]["word"]
    print(json.dumps({"return": [{"tag": word, "n": n}]}), flush=True)
`)
	for n := int64(1); n <= 2; n++ {
		body, err := testsalt.AwaitEvent(t, events, "salt/beacon/web1/own/hello").Map()
		if err != nil || body.Value("n") != n {
			t.Errorf("event %d: %s, %v", n, data.Repr(body), err)
		}
	}
}

// TestBeaconsModuleSteersItsMinion adds a beacon by a job, and saves it.
func TestBeaconsModuleSteersItsMinion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	f := startFleetWith(t, nil, withBeacons)
	config := []any{data.NewMap("beacon_module", "watched"), data.NewMap("file", file)}
	for range 2 {
		got, ok := f.give(t, "beacons.add", "mine", config).(*data.Map)
		if comment := got.Text("comment"); !ok || got.Value("result") != true ||
			comment != "Added beacon: mine." && comment != "Beacon mine is already configured." {
			t.Fatalf("beacons.add = %s", data.Repr(got))
		}
	}
	if err := os.WriteFile(file, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.await(t, "salt/beacon/web1/mine/changed")
	const list = "beacons:\n  mine:\n  - beacon_module: watched\n  - file: "
	if got := f.give(t, "beacons.list"); got != list+file+"\n" {
		t.Errorf("beacons.list = %v", got)
	}
	for range 2 {
		f.give(t, "beacons.save")
	}
	saved, err := os.ReadFile(filepath.Join(f.dir, "conf", "minion.d", "beacons.conf"))
	if err != nil || string(saved) != list+file+"\n" {
		t.Errorf("saved %q %v", saved, err)
	}
	if got := f.give(t, "beacons.list_available"); got != "beacons:\n- watched\n" {
		t.Errorf("beacons.list_available = %v", got)
	}
	for _, fun := range []string{"disable", "disable", "reset", "reset"} {
		if got, ok := f.give(t, "beacons."+fun).(*data.Map); !ok || got.Value("result") != true {
			t.Errorf("beacons.%s = %s", fun, data.Repr(got))
		}
	}
}

// TestBeaconsOfTheProgram watches a file with beacons of the program salt-minion, before a master has
// accepted the minion. The beacon salt_monitor reports in each turn.
func TestBeaconsOfTheProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("inotify is a part of Linux")
	}
	path := filepath.Join(t.TempDir(), "a file")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cfg := testsalt.MinionConfig(testsalt.Dir(t), "web1", "127.0.0.1:1")
	cfg.BeaconsBeforeConnect = true
	cfg.Beacons = data.NewMap(
		"inotify", []any{data.NewMap("files", data.NewMap(path, data.NewMap("mask", []any{"modify"})))},
		"log", []any{data.NewMap("file", path), data.NewMap("tags",
			data.NewMap("seen", data.NewMap("regex", "w")))},
		"salt_monitor", []any{data.NewMap("salt_fun", "test.ping")})
	testsalt.StartMinion(t, cfg)
	bus, tags := dialMinion(t, cfg), map[string]bool{}
	want := "salt/beacon/web1/inotify/" + strings.ReplaceAll(path, " ", "%20")
	for range 10 {
		body, err := testsalt.AwaitEvent(t, bus, beacons.ReturnTag).Map()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range data.ListOf(body.Value("beacons")) {
			m, _ := e.(*data.Map)
			tags[m.Text("tag")] = true
		}
		if tags[want] && tags["salt/beacon/web1/log/seen"] {
			return
		}
		if _, err := file.WriteString("word\n"); err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("tags %v", tags)
}
