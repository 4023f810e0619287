package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// serviceScript returns the packages' service script with a pid file of its own, on a host without
// systemd.
func serviceScript(t *testing.T, pidfile string) string {
	t.Helper()
	body := text(t, "libexec/service")
	for from, to := range map[string]string{"PIDFILE=/var/run/$name.pid": "PIDFILE=" + pidfile,
		"/run/systemd/system": "/nowhere"} {
		if strings.Count(body, from) != 1 {
			t.Fatalf("the script has no %q", from)
		}
		body = strings.Replace(body, from, to, 1)
	}
	file := filepath.Join(t.TempDir(), "service")
	if err := os.WriteFile(file, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// waiter starts a program with this name that only waits.
func waiter(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\nread -r line\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// TestScriptsSignalTheirDaemonAlone starts a process like one of a job; the script must only stop
// the minion that the pid file names.
func TestScriptsSignalTheirDaemonAlone(t *testing.T) {
	requires(t, false, "sed")
	if _, err := os.Stat("/proc/self/comm"); err != nil {
		t.Skip("only Linux tells the name of a process")
	}
	for _, tt := range []struct {
		name, program string // that the pid file names
		pid           func(pid int) string
		stopped       bool
	}{
		{"the minion", "salt-minion", strconv.Itoa, true},
		{"a stranger", "stranger", strconv.Itoa, false},
		{"nobody", "salt-minion", func(int) string { return "" }, false},
		{"everybody", "salt-minion", func(int) string { return "-1" }, false},
		{"two", "salt-minion", func(pid int) string { return strconv.Itoa(pid) + " " + strconv.Itoa(pid) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pidfile := filepath.Join(t.TempDir(), "pid")
			cmd := waiter(t, tt.program)
			if err := os.WriteFile(pidfile, []byte(tt.pid(cmd.Process.Pid)), 0o644); err != nil {
				t.Fatal(err)
			}
			job := exec.Command("true")
			if err := job.Run(); err != nil {
				t.Fatal(err)
			}
			in(t, t.TempDir(), "sh", serviceScript(t, pidfile), "salt-minion",
				"stop-after", strconv.Itoa(job.Process.Pid))
			if !tt.stopped {
				_ = cmd.Process.Kill()
			}
			err := cmd.Wait()
			if want := map[bool]string{true: "signal: terminated",
				false: "signal: killed"}[tt.stopped]; err == nil || err.Error() != want {
				t.Errorf("the process ended with %v, want %s", err, want)
			}
		})
	}
}

// TestLogrotateScriptsSignalNoUserProcess checks that root never signals a process named by a
// user's file.
func TestLogrotateScriptsSignalNoUserProcess(t *testing.T) {
	for _, file := range files(t, staged(t), "logrotate/*") {
		if body := text(t, file); strings.Contains(body, "kill") ||
			!strings.Contains(body, "\n/var/log/salt/") {
			t.Errorf("%s:\n%s", file, body)
		}
	}
}
