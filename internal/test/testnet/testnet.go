// Package testnet makes hosts for tests: network namespaces on one machine, joined by a bridge, between
// which packets can be dropped.
//
// The test itself is in a network namespace of its own, see need.Network. It is on the bridge and reaches
// all hosts, whatever is dropped between them. Nothing is left when the test ends, however it ends.
package testnet

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// The addresses: hosts have those from prefix + "1" on, the test has that of the bridge.
const (
	prefix = "10.77.0."
	bridge = prefix + "254"
	mask   = "/24"
)

// A Host is a network namespace with an address.
type Host struct {
	Name, Address string

	pid int // of a process that keeps the namespace
}

// Need runs a test again in a network of its own, and reports whether this is that run. It skips the
// test if the machine cannot make hosts.
func Need(t *testing.T) bool {
	t.Helper()
	need.Program(t, "ip", "iptables", "nsenter")
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	return need.Network(t, "iptables-save")
}

// Start makes hosts h1, h2 and so on. They end with the test, which must be in the run for which Need
// returned true.
func Start(t testing.TB, count int) []*Host {
	t.Helper()
	run(t, "ip", "link", "set", "lo", "up")
	run(t, "ip", "link", "add", "bridge", "type", "bridge")
	run(t, "ip", "address", "add", bridge+mask, "dev", "bridge")
	run(t, "ip", "link", "set", "bridge", "up")
	var hosts []*Host
	for i := range count {
		number := strconv.Itoa(i + 1)
		h := &Host{Name: "h" + number, Address: prefix + number}
		h.keep(t)
		run(t, "ip", "link", "add", h.Name, "type", "veth", "peer", "name", "net", "netns", strconv.Itoa(h.pid))
		run(t, "ip", "link", "set", h.Name, "master", "bridge", "up")
		h.run(t, "ip", "address", "add", h.Address+mask, "dev", "net")
		h.run(t, "ip", "link", "set", "net", "up")
		h.run(t, "ip", "link", "set", "lo", "up")
		hosts = append(hosts, h)
	}
	return hosts
}

// keep starts a process in a new network namespace, which ends when its input does.
func (h *Host) keep(t testing.TB) {
	t.Helper()
	cmd := exec.Command("unshare", "-n", "sh", "-c", "echo; exec cat")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("end host %s: %v", h.Name, err)
		}
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil && err != io.EOF {
		t.Fatalf("make host %s: %v", h.Name, err)
	}
	h.pid = cmd.Process.Pid
}

// Retries sets how often the host sends a segment of TCP again before the connection ends. With 4 that
// takes six seconds, instead of a quarter of an hour.
func (h *Host) Retries(t testing.TB, count int) {
	t.Helper()
	h.run(t, "sh", "-c", fmt.Sprintf("echo %d > /proc/sys/net/ipv4/tcp_retries2", count))
}

// Command returns a command that runs a program on the host. The process that it starts becomes the
// program.
func (h *Host) Command(name string, args ...string) *exec.Cmd {
	enter := []string{"--net=/proc/" + strconv.Itoa(h.pid) + "/ns/net", "--", name}
	return exec.Command("nsenter", append(enter, args...)...)
}

func (h *Host) run(t testing.TB, name string, args ...string) string {
	t.Helper()
	return output(t, h.Command(name, args...))
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	output(t, exec.Command(name, args...))
}

func output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A Drop says which packets do not arrive: those that one host sends to another, or to itself.
type Drop struct {
	From, To *Host
	// Ports limits it to TCP from or to one of these ports, which are at most 15; nil means everything.
	Ports []int
}

// Both returns drops for both directions between hosts.
func Both(a, b *Host, ports ...int) []Drop {
	if a == b {
		return []Drop{{a, b, ports}}
	}
	return []Drop{{a, b, ports}, {b, a, ports}}
}

// String returns what is dropped.
func (d Drop) String() string {
	text := d.From.Name + " to " + d.To.Name
	if d.Ports != nil {
		text += " at ports " + d.ports()
	}
	return text
}

func (d Drop) ports() string {
	var all []string
	for _, port := range d.Ports {
		all = append(all, strconv.Itoa(port))
	}
	return strings.Join(all, ",")
}

// A Cut is what is dropped at present.
type Cut struct{ drops []Drop }

// Start begins to drop packets, on connections that are there, too. Only one cut is there at a time.
func (c *Cut) Start(t testing.TB, drops ...Drop) {
	t.Helper()
	if len(c.drops) != 0 {
		t.Fatalf("packets are dropped already: %v", c.drops)
	}
	c.drops = drops
	for i, d := range drops {
		args := []string{"-w", "-A", "INPUT", "-s", d.From.Address, "-d", d.To.Address}
		if d.Ports != nil {
			args = append(args, "-p", "tcp", "-m", "multiport", "--ports", d.ports())
		}
		d.To.run(t, "iptables", append(args, "-m", "comment", "--comment", mark(i), "-j", "DROP")...)
	}
}

// mark returns a text that finds the rule of a drop.
func mark(i int) string { return fmt.Sprintf("drop-%d.", i) }

// Drops returns what is dropped.
func (c *Cut) Drops() []Drop { return c.drops }

// Dropped returns how many packets each drop has met so far.
func (c *Cut) Dropped(t testing.TB) []int {
	t.Helper()
	counts := make([]int, len(c.drops))
	for i, d := range c.drops {
		for line := range strings.Lines(d.To.run(t, "iptables-save", "-c")) {
			if !strings.Contains(line, mark(i)) {
				continue
			}
			text, _, _ := strings.Cut(strings.TrimPrefix(line, "["), ":")
			n, err := strconv.Atoi(text)
			must(t, err)
			counts[i] = n
		}
	}
	return counts
}

// Heal lets all packets through again, and returns how many each drop has met.
func (c *Cut) Heal(t testing.TB) []int {
	t.Helper()
	counts := c.Dropped(t)
	for _, d := range c.drops {
		d.To.run(t, "iptables", "-w", "-F", "INPUT")
	}
	c.drops = nil
	return counts
}
