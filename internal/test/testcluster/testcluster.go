//go:build linux

package testcluster

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testnet"
)

// patience is how long Start waits before the test fails.
const patience = 60 * time.Second

// Options configure the masters.
type Options struct {
	Masters int // 0 means 1
	// Cluster returns the option cluster of a master: YAML lines that begin with "cluster:"; see
	// [Option]. With nil the masters are alone.
	Cluster func(m *Master) string
	// OwnKeys leaves each master to find or make its key; otherwise all get the same.
	OwnKeys bool
	Config  string // lines of YAML for each master
	// Hosts has a host for each master; nil means that all are on this one.
	Hosts []*testnet.Host
}

// A Cluster is a set of masters.
type Cluster struct {
	Masters []*Master
	KeyFile string // the cluster key of all members; "" without Options.Cluster

	dir string
}

// Start starts masters and waits until each answers. They end with the test; if it fails, the ends
// of their logs are added to its log.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	c := New(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, m := range c.Masters {
		must(t, m.Start())
	}
	for _, m := range c.Masters {
		must(t, m.Wait(ctx))
	}
	return c
}

// New makes the directories and configurations of masters, and starts none.
func New(t testing.TB, o Options) *Cluster {
	t.Helper()
	bin := programs(t)
	dir, err := os.MkdirTemp("", "tc") // short, for the paths of sockets are bounded
	must(t, err)
	c := &Cluster{dir: dir}
	t.Cleanup(func() { c.clear(t) })
	if o.Cluster != nil {
		c.KeyFile = filepath.Join(dir, "cluster.key")
		must(t, cluster.NewKey(c.KeyFile))
	}
	count := max(o.Masters, 1)
	ports := freeport.New(t, 2*count)
	for i := range count {
		m := &Master{Name: fmt.Sprintf("m%d", i+1), ClusterKey: c.KeyFile, bin: bin,
			publish: ports[2*i], reply: ports[2*i+1]}
		m.Dir = filepath.Join(dir, m.Name)
		if o.Hosts != nil {
			m.Host = o.Hosts[i]
		}
		c.Masters = append(c.Masters, m)
		must(t, m.configure(o))
	}
	if !o.OwnKeys {
		must(t, c.shareKey())
	}
	return c
}

// configure writes the configuration of a master.
func (m *Master) configure(o Options) error {
	who, err := user.Current()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("id: %s\ninterface: %s\npublish_port: %d\nret_port: %d\nuser: %s\n"+
		"root_dir: %s\npki_dir: %s\ncachedir: %s\nsock_dir: %s\nlog_file: %s\npidfile: %s\n"+
		"log_level_logfile: debug\nlog_level: quiet\n%s\n", m.Name, m.ip(), m.publish, m.reply, who.Username,
		m.Dir, m.path("pki"), m.path("cache"), m.path("run"), m.path("log"), m.path("pid"), o.Config)
	if o.Cluster != nil {
		text += o.Cluster(m) + "\n"
	}
	if err := os.MkdirAll(m.path("pki"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.Dir, "master"), []byte(text), 0o600); err != nil {
		return err
	}
	m.cfg, _, err = config.LoadMaster(m.Dir, os.Getenv)
	return err
}

// shareKey gives all masters the same key.
func (c *Cluster) shareKey() error {
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		return err
	}
	for _, m := range c.Masters {
		if err := os.WriteFile(m.path("pki/master.pem"), key.PEM(""), 0o400); err != nil {
			return err
		}
		if err := os.WriteFile(m.path("pki/master.pub"), []byte(key.Public().PEM()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Option returns Options.Cluster for members of a cluster on servers such as nats://127.0.0.1:4222. Its
// streams take at most 320 MiB of each server.
func Option(name string, replicas int, servers ...string) func(*Master) string {
	return func(m *Master) string {
		return fmt.Sprintf("cluster:\n  servers: [%s]\n  name: %s\n  member: %s\n  key: %s\n  replicas: %d\n"+
			"  publications_max_bytes: 67108864\n  returns_max_bytes: 134217728\n",
			strings.Join(servers, ", "), name, m.Name, m.ClusterKey, replicas)
	}
}

// Addresses returns HOST:PORT of the masters' request ports, for minions.
func (c *Cluster) Addresses() []string {
	var all []string
	for _, m := range c.Masters {
		all = append(all, m.Address())
	}
	return all
}

// Accept writes accepted keys of minions, by id, into the pki_dir of each master.
func (c *Cluster) Accept(keys map[string]string) error {
	for _, m := range c.Masters {
		if err := m.Accept(keys); err != nil {
			return err
		}
	}
	return nil
}

// clear kills what runs, and removes the directory unless the test has failed. Then it has what all goroutines
// were doing, too.
func (c *Cluster) clear(t testing.TB) {
	for _, m := range c.Masters {
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", m.Name, m.log())
			_ = m.quit() // it may have ended
		}
		if m.Pid() != 0 {
			_ = m.Kill() // it may end meanwhile
		}
	}
	if t.Failed() {
		t.Logf("logs, stacks (stderr) and caches are in %s", c.dir)
		return
	}
	must(t, os.RemoveAll(c.dir))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
