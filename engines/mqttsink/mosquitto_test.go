package mqttsink

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsink"
)

// A mosquitto is a server on loopback that ends with the test.
type mosquitto struct {
	address string
	config  string // file
	cmd     *exec.Cmd
}

// startMosquitto starts a server with further lines of configuration.
func startMosquitto(t *testing.T, lines ...string) *mosquitto {
	t.Helper()
	need.Program(t, "mosquitto")
	dir := t.TempDir()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	m := &mosquitto{address: freeport.Address(t), config: filepath.Join(dir, "conf")}
	_, port, _ := net.SplitHostPort(m.address)
	// it would change to a user who cannot read the directory
	text := fmt.Sprintf("user %s\nlistener %s 127.0.0.1\nlog_dest file %s\nlog_type all\n%s\n", me.Username, port,
		filepath.Join(dir, "log"), strings.Join(lines, "\n"))
	if err := os.WriteFile(m.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.start(t)
	t.Cleanup(func() {
		m.stop()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log")) // it is for people
			t.Logf("log of mosquitto:\n%s", log)
		}
	})
	return m
}

func (m *mosquitto) start(t *testing.T) {
	t.Helper()
	program := "mosquitto"
	if _, err := exec.LookPath(program); err != nil {
		program = "/usr/sbin/mosquitto"
	}
	m.cmd = exec.Command(program, "-c", m.config)
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testsink.Eventually(t, "mosquitto listens", func() bool {
		conn, err := net.Dial("tcp", m.address)
		if err == nil {
			conn.Close() //nolint:errcheck // nothing is lost by it
		}
		return err == nil
	})
}

// stop kills the server and waits for its end.
func (m *mosquitto) stop() {
	if m.cmd != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait() // the error says that it was killed
		m.cmd = nil
	}
}
