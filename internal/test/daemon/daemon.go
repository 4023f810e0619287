// Package daemon starts servers of the host for tests.
package daemon

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
)

// Port returns a port of loopback that nothing uses.
func Port(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// Start runs a program until the end of the test, and returns once something listens at an address. Without
// the program the test is skipped.
func Start(t testing.TB, network, address, program string, args ...string) {
	t.Helper()
	need.Program(t, program)
	c := exec.Command(program, args...)
	c.Dir = t.TempDir()
	log := &output{}
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	t.Cleanup(func() { _ = c.Process.Kill(); <-ended })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial(network, address); err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended:\n%s", program, log.text())
		case <-tick.C:
		}
	}
}

// output is what a program prints; it may be read meanwhile.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Memcached starts a memcached and returns its port.
func Memcached(t testing.TB) string {
	t.Helper()
	port := Port(t)
	Start(t, "tcp", "127.0.0.1:"+port, "memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", port, "-U", "0")
	return port
}

// Redis starts a redis-server with further arguments, and returns its port.
func Redis(t testing.TB, args ...string) string {
	t.Helper()
	port := Port(t)
	Start(t, "tcp", "127.0.0.1:"+port, "redis-server",
		append([]string{"--port", port, "--bind", "127.0.0.1", "--save", ""}, args...)...)
	return port
}

// Influxd starts an InfluxDB 1 without logins, and returns its port.
func Influxd(t testing.TB) string {
	t.Helper()
	port, dir := Port(t), t.TempDir()
	file := filepath.Join(dir, "influxd.conf")
	text := fmt.Sprintf("reporting-disabled = true\nbind-address = \"127.0.0.1:%s\"\n[meta]\ndir = %q\n[data]\ndir = %q\n"+
		"wal-dir = %q\n[monitor]\nstore-enabled = false\n[http]\nbind-address = \"127.0.0.1:%s\"\n", Port(t),
		dir+"/meta", dir+"/data", dir+"/wal", port)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	Start(t, "tcp", "127.0.0.1:"+port, "influxd", "-config", file)
	return port
}
