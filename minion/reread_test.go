package minion_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// writeMinion writes a file of the configuration of a minion below dir, and reads the whole.
func writeMinion(t *testing.T, dir, file, text string) *config.Minion {
	t.Helper()
	path := filepath.Join(dir, "conf", file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readMinion(t, dir)
}

func readMinion(t *testing.T, dir string) *config.Minion {
	t.Helper()
	cfg, _, err := config.LoadMinion(filepath.Join(dir, "conf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// startConfigured starts a master, and a minion whose configuration is in files below f.dir.
func startConfigured(t *testing.T, options string) *fleet {
	t.Helper()
	f := &fleet{master: testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t))), dir: testsalt.Dir(t)}
	f.events = f.master.Listen(t)
	host, port, err := net.SplitHostPort(f.master.Address)
	if err != nil {
		t.Fatal(err)
	}
	cfg := writeMinion(t, f.dir, "minion",
		fmt.Sprintf("id: web1\nroot_dir: %s\nsock_dir: %s\nmaster: %s\nmaster_port: %s\nacceptance_wait_time: 1\n%s",
			f.dir, filepath.Join(f.dir, "run"), host, port, options))
	f.minion = testsalt.StartMinion(t, cfg)
	f.await(t, "salt/minion/web1/start")
	return f
}

// reread has the minion read its configuration again, as the program does when a file of it has
// changed.
func (f *fleet) reread(t *testing.T) {
	t.Helper()
	renewed, _ := f.minion.Config.Renew(readMinion(t, f.dir))
	f.minion.Config = renewed
	if err := f.minion.Minion.Renew(t.Context(), renewed); err != nil {
		t.Fatal(err)
	}
}

// jobs returns the schedule of the minion.
func (f *fleet) jobs(t *testing.T) string {
	t.Helper()
	return data.Str(f.give(t, "schedule.list", data.NewMap("__kwarg__", true, "show_all", true)))
}

// TestScheduleDoesNotFallBackToItsFile saves a schedule, changes it without saving, and has the
// minion read its configuration again, which the program does since the saved file is part of that.
func TestScheduleDoesNotFallBackToItsFile(t *testing.T) {
	f := startConfigured(t, "schedule:\n  a: {function: test.ping, hours: 1}\n")
	kwargs := func(pairs ...any) *data.Map {
		return data.NewMap(append([]any{"__kwarg__", true}, pairs...)...)
	}
	f.give(t, "schedule.add", "pp", kwargs("function", "test.ping", "hours", int64(1)))
	f.give(t, "schedule.add", "temporary",
		kwargs("function", "test.ping", "hours", int64(1), "persist", false))
	f.give(t, "schedule.delete", "pp", kwargs("persist", false))
	f.reread(t)
	if jobs := f.jobs(t); strings.Contains(jobs, "pp:") || !strings.Contains(jobs, "temporary:") ||
		!strings.Contains(jobs, "  a:") {
		t.Errorf("after the minion has read its own file the schedule is\n%s", jobs)
	}
	writeMinion(t, f.dir, "minion.d/more.conf", "schedule: {b: {function: test.ping, hours: 1}}\n")
	f.reread(t)
	if jobs := f.jobs(t); strings.Contains(jobs, "pp:") || !strings.Contains(jobs, "temporary:") ||
		!strings.Contains(jobs, "  b:") {
		t.Errorf("after another file was edited the schedule is\n%s", jobs)
	}
}

// TestScheduleListShowsTheMineAsSaltDoes compares with what Salt 3006.18 prints.
func TestScheduleListShowsTheMineAsSaltDoes(t *testing.T) {
	f := startConfigured(t, "")
	want := "schedule:\n  __mine_interval:\n    enabled: true\n    function: mine.update\n    jid_include: true\n    maxrunning: 2\n    minutes: 60\n" +
		"    name: __mine_interval\n    return_job: false\n    run_on_start: true\n    saved: true\n"
	if got := f.jobs(t); got != want {
		t.Errorf("schedule.list show_all=True =\n%s\nwant\n%s", got, want)
	}
}
