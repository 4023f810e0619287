//go:build unix

package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/logging"
)

// TestMain lets the test binary be the daemon of these tests.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BRINE_TEST_DAEMON"); dir != "" {
		os.Exit(testDaemon(dir))
	}
	os.Exit(m.Run())
}

// testDaemon writes who it is and what it has open, and ends.
func testDaemon(dir string) int {
	d := &Daemon{Name: "test-daemon", Options: &DaemonOptions{Daemon: os.Getenv("BRINE_TEST_DETACH") != ""}, User: os.Getenv("BRINE_TEST_USER"),
		Folders: []string{dir}, PIDFile: filepath.Join(dir, "pid"), Log: logging.Settings{Level: "quiet"}}
	d.Start = func(context.Context, *logrus.Logger) (func(context.Context) error, error) {
		return func(context.Context) error {
			status, _ := os.ReadFile("/proc/self/status")
			stderr, _ := os.Readlink("/proc/self/fd/2")
			body := string(status) + "stderr " + stderr + "\nleft " + os.Getenv(background) + "\n"
			if err := os.WriteFile(filepath.Join(dir, "new"), []byte(body), 0o600); err != nil {
				return err
			}
			return os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "seen"))
		}, nil
	}
	return d.Serve(context.Background(), System(), os.Stderr)
}

// runDaemon runs the test binary as a daemon and returns what it saw of itself.
func runDaemon(t *testing.T, env ...string) string {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc")
	}
	dir, err := os.MkdirTemp("", "daemon")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "BRINE_TEST_DAEMON="+dir), env...)
	var out bytes.Buffer
	cmd.Stderr = &out // a pipe: Run ends only when nobody holds it open
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	text, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return string(text)
}

func TestDaemonInTheBackgroundLeavesTheTerminal(t *testing.T) {
	seen := runDaemon(t, "BRINE_TEST_DETACH=1")
	for _, want := range []string{"stderr /dev/null\n", "left \n"} {
		if !strings.Contains(seen, want) {
			t.Errorf("the daemon saw\n%s\nwant %q", seen, want)
		}
	}
}

// TestDaemonGivesUpTheRightsOfRoot is the regression test of CVE-2013-6617.
func TestDaemonGivesUpTheRightsOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("BRINE_REQUIRE_ALL") == "1" {
			t.Fatal("needs root")
		}
		t.Skip("needs root: it becomes another user")
	}
	seen := runDaemon(t, "BRINE_TEST_USER=nobody")
	uid, err := userID("nobody")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(seen) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "Uid:") && strings.Count(line, "\t0") > 0, strings.HasPrefix(line, "Gid:") && strings.Count(line, "\t0") > 0,
			strings.HasPrefix(line, "Groups:") && len(fields) > 1 && fields[1] == "0",
			strings.HasPrefix(line, "CapEff:") && strings.Trim(fields[1], "0") != "":
			t.Errorf("as user %d the daemon has %s", uid, line)
		}
	}
}
