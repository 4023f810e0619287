// Package testnats starts real nats-server processes for tests: one node with JetStream, or a
// cluster of several on loopback.
//
// Nodes can be killed, stopped, continued and started again on the same store. They end with the
// test. A test that calls Start is skipped with the reason if there is no nats-server. The
// environment variable BRINE_TEST_NATS_SERVER names another program than that of the PATH.
package testnats

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnet"
)

// patience is how long Start, Wait and their like wait before they fail the test. Elections take
// seconds on a machine that does other things, too.
const patience = 60 * time.Second

// Options configure the servers. The zero value is one node without authentication.
type Options struct {
	Nodes       int    // number of servers; 0 means 1
	NoJetStream bool   // leave JetStream off
	Domain      string // of JetStream; "" means none
	MaxPayload  int    // size limit of a message in bytes; 0 means the server's own, 1 MiB
	MaxFile     int64  // limit of JetStream's files in bytes; 0 means 1 GiB
	TLS         bool   // serve TLS with a certificate of CA
	ClientCerts bool   // with TLS: demand a certificate of CA from clients
	User        string // demand this user, with Password
	Password    string
	NKey        bool // demand the nkey whose seed is in the file Seed
	JWT         bool // demand the credentials in the file Credentials
	Clocks      bool // SetClock steps the clocks of nodes without a new start
	// Prepare, if not nil, is called with the directory of each node's store before the node starts.
	Prepare func(store string)
	// Hosts has a host for each node; nil means that all are on this one.
	Hosts []*testnet.Host
}

// A Cluster is a set of servers. Its methods belong to the goroutine of the test.
type Cluster struct {
	Nodes []*Node
	// Files for clients, if Options ask for them: the CA, a certificate and its key, the seed of an
	// nkey, and credentials of a user.
	CA, Cert, Key, Seed, Credentials string

	o   Options
	dir string
}

// Start starts servers and waits until JetStream has a leader.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	program := find(t)
	o.Nodes = max(o.Nodes, 1)
	if o.Nodes > 1 {
		need.That(t, "nats-server for several replicas", recent(program))
	}
	c := &Cluster{o: o, dir: t.TempDir()}
	access := c.access(t)
	ports := freeport.New(t, 3*o.Nodes)
	for i := range o.Nodes {
		n := &Node{Name: "n" + strconv.Itoa(i+1), port: ports[i], monitor: ports[o.Nodes+i],
			route: ports[2*o.Nodes+i], program: program, secure: o.TLS, setsClock: o.Clocks}
		n.config = filepath.Join(c.dir, n.Name+".conf")
		n.log = filepath.Join(c.dir, n.Name+".log")
		if o.Hosts != nil {
			n.host = o.Hosts[i]
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, n := range c.Nodes {
		write(t, n.config, c.configuration(n)+access)
		if o.Prepare != nil {
			o.Prepare(c.Store(n.Name))
		}
		n.start(t)
	}
	t.Cleanup(func() {
		for _, n := range c.Nodes {
			n.end()
			if t.Failed() {
				n.show(t)
			}
		}
	})
	c.bootstrap(t)
	return c
}

// bootstrap waits as Wait does. Servers that have found no leader after half of this time start once
// more with empty stores: under load, nats-server 2.10 was seen to elect none for a minute.
func (c *Cluster) bootstrap(t testing.TB) {
	t.Helper()
	var why string
	again := time.Now().Add(patience / 2)
	Eventually(t, func() bool {
		if why = c.unready(); why == "" {
			return true
		}
		if time.Now().After(again) {
			t.Logf("nats-server is not ready after %s and starts again with empty stores: %s", patience/2, why)
			c.startAnew(t)
			again = again.Add(patience)
		}
		return false
	}, func() string { return "nats-server is not ready: " + why })
}

// startAnew kills the servers, empties their stores and starts them.
func (c *Cluster) startAnew(t testing.TB) {
	t.Helper()
	for _, n := range c.Nodes {
		n.end()
		files, _ := filepath.Glob(filepath.Join(c.Store(n.Name), "*")) // the pattern is valid
		for _, file := range files {
			must(t, os.RemoveAll(file))
		}
	}
	for _, n := range c.Nodes {
		n.start(t)
	}
}

// find returns the path of nats-server, or ends the test.
func find(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("BRINE_TEST_NATS_SERVER"); path != "" {
		return path
	}
	need.Program(t, "nats-server")
	for _, dir := range []string{"", "/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, "nats-server")); err == nil {
			return path
		}
	}
	t.Fatal("nats-server has vanished")
	return ""
}

// recent returns an error for a server that can lose messages of several replicas, which masters refuse.
func recent(program string) error {
	text, err := exec.Command(program, "--version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", program, err)
	}
	var at [3]int
	if _, err := fmt.Sscanf(string(text), "nats-server: v%d.%d.%d", &at[0], &at[1], &at[2]); err != nil {
		return fmt.Errorf("version of %s: %q: %w", program, text, err)
	}
	if least := [3]int{2, 10, 29}; slices.Compare(at[:], least[:]) < 0 {
		return fmt.Errorf("%s has version %d.%d.%d, the least is 2.10.29", program, at[0], at[1], at[2])
	}
	return nil
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configuration returns the configuration of a node, without its access rules.
func (c *Cluster) configuration(n *Node) string {
	text := fmt.Sprintf("server_name: %s\nlisten: %s\nhttp: %s\n"+
		"lame_duck_grace_period: 0s\nlame_duck_duration: 30s\nwrite_deadline: 2s\n",
		n.Name, n.at(n.port), n.at(n.monitor))
	if c.o.MaxPayload > 0 {
		text += fmt.Sprintf("max_payload: %d\n", c.o.MaxPayload)
	}
	if !c.o.NoJetStream {
		size := c.o.MaxFile
		if size == 0 {
			size = 1 << 30
		}
		text += fmt.Sprintf("jetstream {\n store_dir: %q\n max_mem: 268435456\n max_file: %d\n",
			filepath.Join(c.dir, n.Name), size)
		if c.o.Domain != "" {
			text += " domain: " + c.o.Domain + "\n"
		}
		text += "}\n"
	}
	if c.o.Nodes > 1 {
		text += fmt.Sprintf("cluster {\n name: test\n listen: %s\n routes: [\n", n.at(n.route))
		// Each lists all nodes, also itself: the length of the list is the size that a new meta group
		// has (bootstrapRaftNode in nats-server's raft.go). One that is too small leaves a node out.
		for _, node := range c.Nodes {
			text += fmt.Sprintf("  nats-route://%s\n", node.at(node.route))
		}
		text += " ]\n}\n"
	}
	return text
}

// URLs returns the address of each node.
func (c *Cluster) URLs() []string {
	var urls []string
	for _, n := range c.Nodes {
		urls = append(urls, n.URL())
	}
	return urls
}

// Wait waits until each running node that was not stopped serves JetStream with its streams, and the
// leader of the meta group sees all of them as current. Nodes that report after half of the time that
// they are not current start once more with their stores: after a kill -9, nats-server 2.10 was seen to
// stay so for a minute while nothing happened in the cluster. Wait fails the test after a minute.
func (c *Cluster) Wait(t testing.TB) {
	t.Helper()
	half, again := time.Now().Add(patience/2), false
	var why string
	Eventually(t, func() bool {
		why = c.unready()
		if why != "" && !again && time.Now().After(half) {
			again = true
			c.restartLate(t)
		}
		return why == ""
	}, func() string { return "nats-server is not ready: " + why })
}

// restartLate starts the running nodes again that report that they are not current with the meta group.
func (c *Cluster) restartLate(t testing.TB) {
	t.Helper()
	for _, n := range c.Nodes {
		if n.cmd == nil || n.stopped {
			continue
		}
		var health map[string]any
		if err := n.ask("healthz", &health); err != nil && strings.Contains(err.Error(), "not current with the meta leader") {
			t.Logf("%s starts again after %s: %v", n.Name, patience/2, err)
			n.Restart(t)
		}
	}
}

// Node returns the node with a name, or ends the test.
func (c *Cluster) Node(t testing.TB, name string) *Node {
	t.Helper()
	for _, n := range c.Nodes {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("there is no node %q", name)
	return nil
}

// Leader waits for the leader of a stream's group and returns it.
func (c *Cluster) Leader(t testing.TB, stream string) *Node {
	t.Helper()
	js, err := jetstream.New(c.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var last error
	Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s, err := js.Stream(ctx, stream)
		if last = err; err != nil {
			return false
		}
		if group := s.CachedInfo().Cluster; group != nil {
			name = group.Leader
		} else if len(c.Nodes) == 1 { // nats-server 2.9 has no group then
			name = c.Nodes[0].Name
		}
		return name != ""
	}, func() string { return fmt.Sprintf("stream %s has no leader: %v", stream, last) })
	return c.Node(t, name)
}

// Connect returns a connection to the servers, which is closed at the end of the test.
func (c *Cluster) Connect(t testing.TB, options ...nats.Option) *nats.Conn {
	t.Helper()
	options = append(c.login(t), options...)
	o := nats.GetDefaultOptions()
	o.Servers = c.URLs()
	o.MaxReconnect, o.ReconnectWait = -1, 100*time.Millisecond
	o.RetryOnFailedConnect = true
	o.PingInterval, o.MaxPingsOut = time.Second, 1 // to leave a server that stands still
	for _, set := range options {
		if err := set(&o); err != nil {
			t.Fatal(err)
		}
	}
	nc, err := o.Connect()
	if err != nil {
		t.Fatalf("connect to nats-server: %v", err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// login returns the options of a client that the servers admit.
func (c *Cluster) login(t testing.TB) []nats.Option {
	t.Helper()
	var all []nats.Option
	if c.o.TLS {
		all = append(all, nats.RootCAs(c.CA), nats.ClientCert(c.Cert, c.Key))
	}
	if c.o.User != "" {
		all = append(all, nats.UserInfo(c.o.User, c.o.Password))
	}
	if c.o.NKey {
		option, err := nats.NkeyOptionFromSeed(c.Seed)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, option)
	}
	if c.o.JWT {
		all = append(all, nats.UserCredentials(c.Credentials))
	}
	return all
}

// Eventually calls done until it reports true; after a minute it fails the test with the text of
// why.
func Eventually(t testing.TB, done func() bool, why func() string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal(why())
		}
	}
}

// Store returns the directory that a node keeps its files in.
func (c *Cluster) Store(node string) string { return filepath.Join(c.dir, node) }
