package minion_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// scheduled returns the configuration of a minion with one job.
func scheduled(name string, item *data.Map) func(*config.Minion) {
	return func(cfg *config.Minion) { cfg.Schedule = data.NewMap(name, item) }
}

func TestScheduledJobReturnsToTheMaster(t *testing.T) {
	f := startFleet(t, scheduled("beat",
		data.NewMap("function", "test.arg", "args", []any{int64(1)}, "kwargs", data.NewMap("a", "b"),
			"seconds", int64(1), "metadata", data.NewMap("team", "web"))))
	load := f.await(t, "salt/job/")
	for !load.Has("schedule") {
		load = f.await(t, "salt/job/")
	}
	jid := load.Text("jid")
	if load.Text("schedule") != "beat" || load.Text("fun") != "test.arg" || len(jid) != 20 ||
		load.Has("minion_jid") {
		t.Errorf("load = %s", data.Repr(load))
	}
	if got := data.Repr(load.Value("return")); got != "{'args': [1], 'kwargs': {'__pub_fun': 'test.arg', '__pub_arg': [1, {'__kwarg__': True, 'a': 'b'}], '__pub_tgt': 'web1', "+
		"'__pub_jid': '"+jid+"', '__pub_ret': '', '__pub_tgt_type': 'glob', 'a': 'b'}}" &&
		!strings.Contains(got, "'a': 'b'") {
		t.Errorf("return = %s", got)
	}
	if got := data.Repr(load.Value("fun_args")); got != "[1, {'a': 'b'}]" {
		t.Errorf("fun_args = %s", got)
	}
	meta, _ := load.Value("metadata").(*data.Map)
	if meta.Text("team") != "web" || !meta.Has("_TS") || !meta.Has("_TT") || !meta.Has("_TOS") {
		t.Errorf("metadata = %s", data.Repr(meta))
	}
	if load.Text("tgt") != "web1" || load.Text("tgt_type") != "glob" {
		t.Errorf("target %q %q", load.Text("tgt"), load.Text("tgt_type"))
	}
}

// give gives the minion an order and returns what it answers.
func (f *fleet) give(t *testing.T, fun string, args ...any) any {
	t.Helper()
	return f.run(t, fun, args...).Value("return")
}

func TestScheduleModuleSteersTheSchedulerOfItsMinion(t *testing.T) {
	f := startFleet(t, nil)
	kwargs := data.NewMap("__kwarg__", true, "function", "test.ping", "seconds", int64(3600))
	if got, ok := f.give(t, "schedule.add", "ping", kwargs).(*data.Map); !ok ||
		got.Value("result") != true || got.Text("comment") != "Added job: ping to schedule." {
		t.Fatalf("schedule.add = %s", data.Repr(got))
	}
	if got, ok := f.give(t, "schedule.add", "ping", kwargs).(*data.Map); !ok || got.Value("result") != false {
		t.Errorf("schedule.add again = %s", data.Repr(got))
	}
	list, _ := f.give(t, "schedule.list").(string)
	if !strings.HasPrefix(list, "schedule:\n") || !strings.Contains(list, "function: test.ping") {
		t.Errorf("schedule.list = %q", list)
	}
	saved, err := os.ReadFile(filepath.Join(f.dir, "conf", "minion.d", "_schedule.conf"))
	if err != nil || !strings.Contains(string(saved), "function: test.ping") {
		t.Errorf("saved %q %v", saved, err)
	}
	aside := &fleet{master: f.master, events: f.master.Listen(t, "salt/job/")}
	f.give(t, "schedule.run_job", "ping")
	for load := aside.await(t, "salt/job/"); load.Text("schedule") != "ping"; {
		load = aside.await(t, "salt/job/")
	}
	for range 2 {
		f.give(t, "schedule.delete", "ping")
	}
	if list, _ := f.give(t, "schedule.list").(string); strings.Contains(list, "ping") {
		t.Errorf("after schedule.delete: %q", list)
	}
}
