//go:build linux

package judges_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/installedsalt"
)

// startInstalled runs a daemon of Salt with the configuration of a site, until the test ends.
func startInstalled(t *testing.T, real *installedsalt.Salt, dir, program string) {
	t.Helper()
	said, err := os.Create(filepath.Join(dir, program+".out"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := real.Command(program, "-c", filepath.Join(dir, "etc"))
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("%s does not end", program)
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left
		if t.Failed() {
			for _, name := range []string{program + ".out", strings.TrimPrefix(program, "salt-") + ".log"} {
				text, _ := os.ReadFile(filepath.Join(dir, name)) // it may have none
				t.Logf("%s:\n%s", name, text[max(0, len(text)-20_000):])
			}
		}
	})
}
