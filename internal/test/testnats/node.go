package testnats

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/testnet"
	"github.com/brineproject/brine/internal/test/wrongclock"
)

// A Node is one nats-server.
type Node struct {
	Name string

	program, config, log string
	port, monitor, route int
	secure               bool
	host                 *testnet.Host // nil means this one
	cmd                  *exec.Cmd     // nil while it does not run
	stopped              bool

	setsClock bool
	off       time.Duration     // of the clock
	clock     *wrongclock.Clock // nil if it cannot be set
}

// URL returns the address of the node for clients.
func (n *Node) URL() string {
	scheme := "nats"
	if n.secure {
		scheme = "tls"
	}
	return scheme + "://" + n.at(n.port)
}

// Port returns the port for clients.
func (n *Node) Port() int { return n.port }

// Route returns the port for other nodes.
func (n *Node) Route() int { return n.route }

// at returns HOST:PORT of a port.
func (n *Node) at(port int) string {
	if n.host == nil {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return net.JoinHostPort(n.host.Address, strconv.Itoa(port))
}

// Pid returns the process id, or 0 if the node does not run.
func (n *Node) Pid() int {
	if n.cmd == nil {
		return 0
	}
	return n.cmd.Process.Pid
}

// start starts the process. It does not wait until the process serves.
func (n *Node) start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command
	if n.host != nil {
		command = n.host.Command
	}
	cmd := command(n.program, "-c", n.config)
	cmd.Stdout, cmd.Stderr = log, log
	n.clock = nil
	if n.setsClock {
		n.clock, err = wrongclock.Start(cmd, n.off)
	} else {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start nats-server: %v", err)
	}
	n.cmd, n.stopped = cmd, false
}

// Kill ends the process with SIGKILL and waits for its end.
func (n *Node) Kill(t testing.TB) {
	t.Helper()
	if n.cmd == nil {
		t.Fatalf("kill %s: it does not run", n.Name)
	}
	n.end()
}

func (n *Node) end() {
	if n.cmd == nil {
		return
	}
	n.cmd.Process.Kill()
	n.cmd.Wait() // reports the signal
	n.cmd, n.stopped = nil, false
}

// Stop halts the process with SIGSTOP and returns when it stands still.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	n.signal(t, syscall.SIGSTOP)
	n.stopped = true
	Eventually(t, func() bool { return Stopped(n.Pid()) }, func() string { return n.Name + " does not stop" })
}

// Continue lets a stopped process run again.
func (n *Node) Continue(t testing.TB) {
	t.Helper()
	n.signal(t, syscall.SIGCONT)
	n.stopped = false
}

func (n *Node) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if n.cmd == nil {
		t.Fatalf("%s %s: it does not run", s, n.Name)
	}
	if err := n.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s %s: %v", s, n.Name, err)
	}
}

// Stopped reports whether all threads of a process stand still after a SIGSTOP.
func Stopped(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is valid
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if !strings.HasPrefix(rest, "T ") {
			return false
		}
	}
	return len(files) > 0
}

// Restart kills the process if it runs, and starts it again with the same store and address. It
// does not wait until the node serves; [Cluster.Wait] does.
func (n *Node) Restart(t testing.TB) {
	t.Helper()
	n.end()
	n.start(t)
}

// show writes the end of the node's log, without failed health checks, to the log of the test.
func (n *Node) show(t testing.TB) {
	text, err := os.ReadFile(n.log)
	if err != nil {
		return
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { // one for each question of unready
		return strings.Contains(line, "Healthcheck failed")
	})
	t.Logf("end of the log of %s:\n%s", n.Name, strings.Join(lines[max(0, len(lines)-60):], "\n"))
}

// monitored is what the tests read of /jsz.
type monitored struct {
	Disabled bool `json:"disabled"`
	Meta     *struct {
		Leader   string `json:"leader"`
		Replicas []struct {
			Name    string `json:"name"`
			Current bool   `json:"current"`
			Offline bool   `json:"offline"`
		} `json:"replicas"`
	} `json:"meta_cluster"`
}

// ask reads a page of the node's monitoring port.
func (n *Node) ask(page string, into any) error {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + n.at(n.monitor) + "/" + page)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return fmt.Errorf("%s: %s: %s", page, answer.Status, text)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// MetaLeader returns the name of the node that leads the meta group as far as this one knows, or "" if
// it knows none.
func (n *Node) MetaLeader(t testing.TB) string {
	t.Helper()
	var now monitored
	if err := n.ask("jsz", &now); err != nil || now.Meta == nil {
		t.Fatalf("ask %s for the meta group: %v", n.Name, err)
	}
	return now.Meta.Leader
}

// unready returns the reason why the cluster is not ready, or "".
func (c *Cluster) unready() string {
	var running []string
	var leader *monitored
	for _, n := range c.Nodes {
		if n.cmd == nil || n.stopped {
			continue
		}
		running = append(running, n.Name)
		var health map[string]any
		err := n.ask("healthz", &health)
		// consumers of clients that are gone hold up nobody
		if err != nil && !strings.Contains(err.Error(), "JetStream consumer") {
			return n.Name + ": " + err.Error()
		}
		var now monitored
		if err := n.ask("jsz", &now); err != nil {
			return n.Name + ": " + err.Error()
		}
		if now.Meta != nil && now.Meta.Leader == n.Name {
			leader = &now
		}
	}
	if c.o.Nodes == 1 || c.o.NoJetStream {
		return ""
	}
	if leader == nil {
		return "no running node is the leader of the meta group"
	}
	current := []string{leader.Meta.Leader}
	for _, r := range leader.Meta.Replicas {
		if r.Current && !r.Offline {
			current = append(current, r.Name)
		}
	}
	for _, name := range running {
		if !slices.Contains(current, name) {
			return name + " is not current"
		}
	}
	return ""
}
