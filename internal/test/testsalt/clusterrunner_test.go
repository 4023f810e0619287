package testsalt

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
)

// clusterStatus returns what cluster.status shows of a master, which must come within five seconds.
func (m *Master) clusterStatus(t *testing.T) *data.Map {
	t.Helper()
	begin := time.Now()
	s, ok := m.control(t, "runner", "cluster.status").(*data.Map)
	if took := time.Since(begin); !ok || took > 5*time.Second {
		t.Fatalf("cluster.status of %s: %v after %s", m.Config.ID, s, took)
	}
	return s
}

// state returns the state of a member as a master sees it, nil for one that it does not know.
func (m *Master) state(t *testing.T, id string) any {
	t.Helper()
	v, _ := data.Lookup(m.clusterStatus(t), "members:"+id+":state", ":")
	return v
}

func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	r, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// TestRunnerCluster follows a cluster of two through the end of one member and the loss of NATS, after
// which the other leaves, works alone, and joins again.
func TestRunnerCluster(t *testing.T) {
	need.Time(t, "it loses NATS")
	p := newPool(t)
	address := freeport.Address(t)
	b := p.start(t, "b", nil)
	ports := freeport.New(t, 2) // the same after a restart, so that minions come back
	p.change = func(c *config.Master) { c.MetricsAddress, c.PublishPort, c.RetPort = address, ports[0], ports[1] }
	a := p.start(t, "a", nil)
	p.minion(t, a, "web1")
	awaitFor(t, "a sees b, and a leader", func() bool {
		return a.state(t, "b") == "up" && a.clusterStatus(t).Value("leader") != nil
	})
	s := a.clusterStatus(t)
	for path, want := range map[string]any{"quorum": true, "member": "a", "members:a:minions": int64(1),
		"nats:replicas:n1": "leader", "orders_behind": int64(0)} {
		if v, _ := data.Lookup(s, path, ":"); v != want {
			t.Errorf("%s is %v, want %v, in %s", path, v, want, data.Repr(s))
		}
	}
	if text := data.Str(a.controlText(t, "cluster.leave", "b")); !strings.Contains(text, "signs of life") {
		t.Errorf("b is removed while it lives: %s", text)
	}
	b.Stop(t)
	awaitFor(t, "b has stopped", func() bool { return a.state(t, "b") == "stopped" })
	a.control(t, "runner", "cluster.leave", "b")
	if got := a.state(t, "b"); got != nil {
		t.Errorf("b is removed, and its state is %v", got)
	}
	awaitFor(t, "metrics of a leader", func() bool {
		_, text := get(t, address, "/metrics")
		return strings.Contains(text, "\nbrine_cluster_leader 1\n") && strings.Contains(text, "\nbrine_cluster_quorum 1\n")
	})
	if code, text := get(t, address, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz with a quorum: %d %s", code, text)
	}

	p.nats.Nodes[0].Kill(t)
	awaitFor(t, "the loss of the quorum", func() bool { return a.clusterStatus(t).Value("quorum") == false })
	if code, text := get(t, address, "/readyz"); code != http.StatusServiceUnavailable ||
		!strings.Contains(text, "JetStream does not answer") {
		t.Errorf("/readyz without a quorum: %d %s", code, text)
	}
	if _, text := get(t, address, "/metrics"); !strings.Contains(text, "\nbrine_cluster_quorum 0\n") {
		t.Error("the metrics still show a quorum")
	}
	a.control(t, "runner", "cluster.leave")
	a.Stop(t)
	a = p.start(t, "a", nil) // NATS is gone
	if s := a.clusterStatus(t); s.Value("quorum") != false || !strings.Contains(s.Text("why"), "works alone") {
		t.Errorf("alone: %s", data.Repr(s))
	}
	awaitPresent(t, a, "web1")
	wantAll(t, a, "web1")
	p.minion(t, a, "web2")
	a.control(t, "runner", "cluster.join")
	a.Stop(t)
	p.nats.Nodes[0].Restart(t)
	p.nats.Wait(t)
	a = p.start(t, "a", nil)
	awaitPresent(t, a, "web1", "web2")
	wantAll(t, a, "web1", "web2")
	if s := a.clusterStatus(t); s.Value("quorum") != true {
		t.Errorf("after join: %s", data.Repr(s))
	}
	p.change = nil
	b = p.start(t, "b", nil)
	awaitFor(t, "the keys of the time alone are on b", func() bool {
		all, _ := b.control(t, "wheel", "key.list_all").(*data.Map)
		return slices.Equal(data.TextsOf(all.Value("minions")), []string{"web1", "web2"})
	})
}

// controlText is control for a function that fails; it returns the text of the failure.
func (m *Master) controlText(t *testing.T, fun string, args ...any) any {
	t.Helper()
	done, err := m.Client(t).Control(t.Context(), "runner", fun, args, nil)
	if err != nil {
		return err.Error()
	}
	return done.Value("return")
}

// haproxyConfig is that of docs/cluster.md for two members.
const haproxyConfig = `defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
backend minions
  stick-table type ip size 1k expire 1h
frontend publish
  bind 127.0.0.1:%[1]d
  default_backend publish
frontend request
  bind 127.0.0.1:%[2]d
  default_backend request
backend publish
  balance source
  stick on src table minions
  server a 127.0.0.1:%[3]d check port %[4]d inter 1s on-marked-down shutdown-sessions
  server b 127.0.0.1:%[5]d check port %[6]d inter 1s on-marked-down shutdown-sessions
backend request
  balance source
  stick on src table minions
  server a 127.0.0.1:%[4]d check inter 1s on-marked-down shutdown-sessions
  server b 127.0.0.1:%[6]d check inter 1s on-marked-down shutdown-sessions
`

// TestMinionBehindHAProxy has HAProxy in front of two members: both connections of a minion go to one of
// them, and to the other after the first has ended.
func TestMinionBehindHAProxy(t *testing.T) {
	need.Program(t, "haproxy")
	p := newPool(t)
	members := map[string]*Master{"a": p.start(t, "a", nil), "b": p.start(t, "b", nil)}
	ports := freeport.New(t, 2)
	a, b := members["a"].Config, members["b"].Config
	file := filepath.Join(p.dir, "haproxy.cfg")
	if err := os.WriteFile(file, fmt.Appendf(nil, haproxyConfig, ports[0], ports[1], a.PublishPort, a.RetPort,
		b.PublishPort, b.RetPort), 0o600); err != nil {
		t.Fatal(err)
	}
	program := "haproxy"
	if path, err := exec.LookPath("/usr/sbin/haproxy"); err == nil {
		program = path
	}
	cmd := exec.Command(program, "-db", "-f", file)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	front := fmt.Sprintf("127.0.0.1:%d", ports[1])
	awaitFor(t, "haproxy listens", func() bool {
		c, err := net.Dial("tcp", front)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	cfg := MinionConfig(filepath.Join(p.dir, "web1"), "web1", front)
	cfg.KeySize, cfg.PublishPort = 2048, ports[0]
	StartMinion(t, cfg)
	for _, m := range members {
		awaitPresent(t, m, "web1")
		wantAll(t, m, "web1")
	}
	awaitFor(t, "a member tells that it has the minion", func() bool {
		for id, m := range members {
			if v, _ := data.Lookup(m.clusterStatus(t), "members:"+id+":minions", ":"); v == int64(1) {
				m.Stop(t)
				delete(members, id)
				return true
			}
		}
		return false
	})
	for id, m := range members {
		awaitFor(t, "the minion moves", func() bool {
			v, _ := data.Lookup(m.clusterStatus(t), "members:"+id+":minions", ":")
			return v == int64(1)
		})
		wantAll(t, m, "web1")
	}
}
