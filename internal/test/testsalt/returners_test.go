package testsalt_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/sqlite3"
)

// masterWith returns the configuration of a master with further lines.
func masterWith(t *testing.T, dir string, lines ...string) *config.Master {
	t.Helper()
	conf := filepath.Join(dir, "conf")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "master"),
		[]byte("root_dir: "+dir+"\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMaster(conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	base := testsalt.MasterConfig(dir)
	cfg.Interface, cfg.PublishPort, cfg.RetPort, cfg.AutoAccept, cfg.PidFile,
		cfg.User = base.Interface, 0, 0, true, "", base.User
	cfg.PKIDir, cfg.CacheDir, cfg.SockDir = base.PKIDir, base.CacheDir, base.SockDir
	return cfg
}

// minionWith runs a minion with further lines in its configuration.
func minionWith(t *testing.T, dir, address string, lines ...string) {
	t.Helper()
	conf := filepath.Join(dir, "conf")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	base := testsalt.MinionConfig(dir, "web1", address)
	lines = append(lines, "id: web1")
	if err := os.WriteFile(filepath.Join(conf, "minion"),
		[]byte("root_dir: "+dir+"\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMinion(conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Master, cfg.MasterPort, cfg.PKIDir, cfg.CacheDir, cfg.SockDir = base.Master,
		base.MasterPort, base.PKIDir, base.CacheDir, base.SockDir
	testsalt.StartMinion(t, cfg)
}

// order submits a job to web1 when it is connected, and returns the job when its return has
// arrived.
func order(t *testing.T, m *testsalt.Master, fun, ret string) job.ID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	events := m.Listen(t)
	for m.Client(t) != nil {
		j, err := m.Client(t).Publish(ctx,
			client.Request{Target: "web1", Kind: "glob", Fun: fun, Ret: ret, Timeout: time.Second})
		if err == nil && j.ID != "" {
			testsalt.AwaitEvent(t, events, "salt/job/"+string(j.ID)+"/ret/web1")
			return j.ID
		}
		time.Sleep(20 * time.Millisecond) // the minion is not accepted yet
		if ctx.Err() != nil {
			t.Fatalf("publish: %v", err)
		}
	}
	return ""
}

// eventually waits until a file contains a text.
func eventually(t *testing.T, file, text string) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if b, _ := os.ReadFile(file); strings.Contains(string(b), text) {
			return string(b)
		}
	}
	b, _ := os.ReadFile(file)
	t.Fatalf("%s never held %q but %q", file, text, b)
	return ""
}

func TestReturnsAndEventsGoWhereOptionsSay(t *testing.T) {
	dir := testsalt.Dir(t)
	events, raw := filepath.Join(dir, "events"), filepath.Join(dir, "raw")
	m := testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"),
		"master_job_cache: local_cache", "event_return: rawfile_json",
		"event_return_whitelist: ['salt/job/*/ret/*']", "rawfile_json.filename: "+events))
	awaited := m.Listen(t, "salt/minion/web1/start", "minion_start")
	minionWith(t, filepath.Join(dir, "n"), m.Address, "rawfile_json.filename: "+raw)
	testsalt.AwaitEvent(t, awaited, "")
	id := order(t, m, "test.ping", "rawfile_json,nowhere")
	line := eventually(t, events, string(id))
	var event struct {
		Tag  string
		Data map[string]any
	}
	if err := json.Unmarshal([]byte(line), &event); err != nil || event.Tag != "salt/job/"+
		string(id)+"/ret/web1" || event.Data["return"] != true {
		t.Errorf("event_return wrote %s: %v", line, err)
	}
	var ret map[string]any
	if err := json.Unmarshal([]byte(eventually(t, raw, string(id))), &ret); err != nil ||
		ret["id"] != "web1" || ret["return"] != true || ret["cmd"] != nil {
		t.Errorf("the returner wrote %v: %v", ret, err)
	}
	folder, err := id.Dir("")
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(m.Config.CacheDir, "jobs", folder, "web1", "return.p"))
	if err != nil || string(body) != "\x83\xa6return\xc3\xa7retcode\x00\xa7success\xc3" {
		t.Errorf("the tree holds %q, %v", body, err)
	}
}

func TestExtJobCacheReceivesJobs(t *testing.T) {
	dir := testsalt.Dir(t)
	db := filepath.Join(dir, "salt.db")
	cfg := masterWith(t, filepath.Join(dir, "m"), "ext_job_cache: sqlite3", "sqlite3.database: "+db,
		"sqlite3.timeout: 5")
	m := testsalt.StartMaster(t, cfg)
	awaited := m.Listen(t, "salt/minion/web1/start", "minion_start")
	minionWith(t, filepath.Join(dir, "n"), m.Address)
	testsalt.AwaitEvent(t, awaited, "")
	id := order(t, m, "test.ping", "")
	m.Stop(t)
	ext, err := sqlite3.Database().Open(t.Context(), cfg.Map(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ext.Close()
	jobs, err := ext.Jobs(t.Context(), returners.Filter{Fun: "test.ping"})
	if err != nil || len(jobs) != 1 || jobs[0].ID != id {
		t.Errorf("the external cache has %v, %v", jobs, err)
	}
}
