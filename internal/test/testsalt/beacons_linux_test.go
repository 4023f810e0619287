package testsalt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestReactorRestoresAWatchedFile is the example of docs/beacons.md: a beacon reports a change of a
// file, and the reactor runs a state that restores it. The beacon salt_monitor shows that the first
// turn of all beacons is over.
func TestReactorRestoresAWatchedFile(t *testing.T) {
	dir := testsalt.Dir(t)
	path := filepath.Join(dir, "motd")
	for name, text := range map[string]string{
		"motd":          "welcome\n",
		"salt/motd.sls": path + ":\n  file.managed:\n    - contents: welcome\n",
		"motd.sls":      "restore motd:\n  local.state.apply:\n    - tgt: {{ data['id'] }}\n    - arg: [motd]\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	m := testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"),
		fmt.Sprintf("reactor: [{'salt/beacon/*/inotify/%s': ['%s']}]", path, filepath.Join(dir, "motd.sls")),
		fmt.Sprintf("file_roots: {base: ['%s']}", filepath.Join(dir, "salt"))))
	turns, events := m.Listen(t, "salt/beacon/web1/salt_monitor/"), m.Listen(t, "salt/job/")
	minionWith(t, filepath.Join(dir, "n"), m.Address, fmt.Sprintf(
		"beacons: {inotify: [{files: {'%s': {mask: [modify, delete_self]}}}, {disable_during_state_run: true}], "+
			"salt_monitor: [{salt_fun: test.ping}, {run_once: true}]}", path))
	testsalt.AwaitEvent(t, turns, "salt/beacon/web1/salt_monitor/")
	write(t, path, "hacked\n")
	for restored := false; !restored; {
		body, err := testsalt.AwaitEvent(t, events, "salt/job/").Map()
		if err != nil {
			t.Fatal(err)
		}
		restored = body.Text("fun") == "state.apply" && body.Has("return")
		if restored && body.Value("success") != true {
			t.Fatalf("return %s", data.Repr(body))
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "welcome\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
