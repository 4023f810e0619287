package minion_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli/saltminion"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/minion"
)

// asMinion is the environment variable that makes the test program a minion: it holds a directory,
// a space and HOST:PORT of the master.
const asMinion = "BRINE_TEST_MINION"

func TestMain(m *testing.M) {
	if what := os.Getenv(asMinion); what != "" {
		if err := beMinion(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beMinion(what string) error {
	dir, address, _ := strings.Cut(what, " ")
	cfg := testsalt.MinionConfig(dir, "web1", address)
	log := logging.Discard()
	o, err := saltminion.Options(cfg, os.Getenv, log, nil)
	if err != nil {
		return err
	}
	m, err := minion.New(context.Background(), cfg, o)
	if err != nil {
		return err
	}
	return m.Run(context.Background(), func() {})
}

// spawn starts a minion as a process of its own. It returns what kills it as kill -9 does.
func (f *fleet) spawn(t *testing.T) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asMinion+"="+f.dir+" "+f.master.Address)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := false
	kill = func() {
		if !dead {
			dead = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
	}
	t.Cleanup(kill)
	f.await(t, "salt/minion/web1/start")
	return kill
}

func TestKilledMinionReportsItsJobsAndDeliversItsReturns(t *testing.T) {
	f := &fleet{master: testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t))), dir: testsalt.Dir(t)}
	f.events = f.master.Listen(t)
	kill := f.spawn(t)
	counter := filepath.Join(f.dir, "runs")
	f.run(t, "cmd.run", "echo run >> "+counter)
	long := f.order(t, client.Request{Fun: "test.sleep", Arg: []any{int64(120)}})
	short := f.order(t, client.Request{Fun: "test.sleep", Arg: []any{int64(1)}})
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", long), true)
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", short), true)
	f.events.Close()
	f.master.Stop(t)
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", short), false)
	kill()
	if n := spooled(t, f.dir); n != 1 {
		t.Fatalf("%d returns in the spool", n)
	}
	f.master = testsalt.StartMaster(t, f.master.Config)
	f.events = f.master.Listen(t)
	returns := f.master.Listen(t, "salt/job/")
	kill = f.spawn(t)
	defer kill()
	got := map[string]*data.Map{}
	for got[long] == nil || got[short] == nil {
		m, err := testsalt.AwaitEvent(t, returns, "salt/job/").Map()
		if err != nil {
			t.Fatal(err)
		}
		got[m.Text("jid")] = m
	}
	if got[short].Value("return") != true || got[short].Value("success") != true {
		t.Errorf("return that was in the spool: %s", data.Repr(got[short]))
	}
	if text := data.Str(got[long].Value("return")); !strings.Contains(text,
		"minion ended while this job was running") || got[long].Value("retcode") != int64(1) {
		t.Errorf("return of the job that was interrupted: %s", data.Repr(got[long]))
	}
	if body, err := os.ReadFile(counter); err != nil || string(body) != "run\n" {
		t.Errorf("the job before ran %q (%v)", body, err)
	}
}
