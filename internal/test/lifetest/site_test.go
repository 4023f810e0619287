//go:build linux

package lifetest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/freeport"
)

// marker is the environment variable that identifies everything started by a site.
const marker = "BRINE_LIFETEST"

// counterVar is the environment variable that names the file in which a minion's jobs record their
// runs.
const counterVar = "BRINE_LIFETEST_COUNTER"

// build builds the programs of the daemons and returns their directory.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", bin+"/",
		"./cmd/salt-master", "./cmd/salt-minion")
	cmd.Dir = sources.Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// A site is a master and minions in a scratch directory, each run as a process.
type site struct {
	bin, dir  string
	masterCfg *config.Master
	master    *daemon
	minions   []*minion
}

// A minion of a site.
type minion struct {
	*daemon
	id      string
	cfg     *config.Minion
	counter string // file to which jobs add a line
}

// newSite creates the directories and configurations, and starts nothing yet. Processes left at the
// end of the test are killed.
func newSite(t *testing.T, bin string, ids ...string) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "life") // short, for the paths of sockets are bounded
	if err != nil {
		t.Fatal(err)
	}
	s := &site{bin: bin, dir: dir}
	t.Cleanup(func() { s.clear(t) })
	ports := freeport.New(t, 2)
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "master", "master",
		fmt.Sprintf("interface: 127.0.0.1\npublish_port: %d\nret_port: %d\nuser: %s\n", ports[0],
			ports[1], who.Username))
	if s.masterCfg, _, err = config.LoadMaster(filepath.Join(dir, "master"), os.Getenv); err != nil {
		t.Fatal(err)
	}
	s.master = s.daemon("salt-master", "master", eventbus.MasterSockets(s.masterCfg.SockDir))
	for _, id := range ids {
		s.minions = append(s.minions, s.newMinion(t, id, ports[1], who.Username))
	}
	return s
}

func (s *site) newMinion(t *testing.T, id string, port int, user string) *minion {
	t.Helper()
	s.write(t, id, "minion", fmt.Sprintf("id: %s\nmaster: 127.0.0.1\nmaster_port: %d\nuser: %s\nacceptance_wait_time: 1\n"+
		"recon_default: 50\nrecon_max: 200\nrandom_reauth_delay: 1\n", id, port, user))
	cfg, _, err := config.LoadMinion(filepath.Join(s.dir, id), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := eventbus.MinionSockets(cfg.SockDir, id, cfg.HashType)
	if err != nil {
		t.Fatal(err)
	}
	m := &minion{daemon: s.daemon("salt-minion", id, sockets), id: id, cfg: cfg,
		counter: filepath.Join(s.dir, id+".counter")}
	m.env = append(m.env, counterVar+"="+m.counter)
	if err := os.WriteFile(m.counter, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

// write writes a configuration.
func (s *site) write(t *testing.T, name, file, text string) {
	t.Helper()
	conf := filepath.Join(s.dir, name)
	text += fmt.Sprintf("root_dir: %s\nlog_file: %s\nlog_level_logfile: debug\nlog_level: quiet\n",
		filepath.Join(conf, "root"), s.logFile(name))
	if err := os.MkdirAll(filepath.Join(conf, "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *site) logFile(name string) string { return filepath.Join(s.dir, name, "root", "log") }

func (s *site) daemon(program, name string, sockets eventbus.Sockets) *daemon {
	return &daemon{
		name: name, program: filepath.Join(s.bin, program), conf: filepath.Join(s.dir, name),
		sockets: sockets, said: filepath.Join(s.dir, name+".stderr"), env: []string{marker + "=" + s.dir},
	}
}

// accept accepts the keys of all minions, once they are pending.
func (s *site) accept(t *testing.T) {
	t.Helper()
	for _, m := range s.minions {
		waiting := filepath.Join(s.masterCfg.PKIDir, "minions_pre", m.id)
		await(t, "the key of "+m.id, func() bool { return exists(waiting) })
		if err := os.Rename(waiting, filepath.Join(s.masterCfg.PKIDir, "minions", m.id)); err != nil {
			t.Fatal(err)
		}
	}
}

// startAll starts all daemons and waits until each is ready.
func (s *site) startAll(t *testing.T) {
	t.Helper()
	for _, d := range s.all() {
		if err := d.start(); err != nil {
			t.Fatal(err)
		}
	}
}

// stopAll stops all daemons, the minions first, and waits for their end.
func (s *site) stopAll(t *testing.T) {
	t.Helper()
	for i := range s.all() {
		d := s.all()[len(s.all())-1-i]
		if err := d.stop(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
}

func (s *site) all() []*daemon {
	all := []*daemon{s.master}
	for _, m := range s.minions {
		all = append(all, m.daemon)
	}
	return all
}

// clear kills leftover processes, and removes the directory unless the test has failed.
func (s *site) clear(t *testing.T) {
	for _, p := range s.left() {
		_ = p.kill() // it may have ended
	}
	if t.Failed() {
		t.Logf("logs and caches are in %s", s.dir)
		return
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Error(err)
	}
}
