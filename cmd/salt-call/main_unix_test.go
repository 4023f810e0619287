//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs the program itself where the test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("BRINE_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestProgramsEndWithTheCommand checks that no plug-in runs on after salt-call ends by a signal.
func TestProgramsEndWithTheCommand(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			if sig == syscall.SIGKILL && runtime.GOOS != "linux" {
				t.Skip("only Linux can end a program with the one that started it")
			}
			testSignal(t, sig)
		})
	}
}

// testSignal sends a signal to salt-call while a program answers its call.
func testSignal(t *testing.T, sig syscall.Signal) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "pid")
	own := "#!/bin/sh\ncase $1 in\ndescribe) echo '{\"functions\": {\"hang\": {}}}' ;;\n" +
		"run) read -r call; echo $$ >" + file + ".new; mv " + file + ".new " + file + "\n" +
		"exec sleep 1000 ;;\nesac\n"
	if err := os.WriteFile(filepath.Join(root, "_modules", "own"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, root)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	var pid int
	waitFor(t, "start of the program", func() bool {
		text, err := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	waitFor(t, "end of the program", func() bool { return isGone(pid) })
}

// command returns the command that runs salt-call with its files below root.
func command(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	config := "enable_fqdns_grains: false\nenable_gpu_grains: false\nid: m1\nroot_dir: " + root + "\n"
	if err := os.WriteFile(filepath.Join(root, "minion"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "--local", "--config-dir", root, "own.hang")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "BRINE_TEST_MAIN=1")
	return cmd
}

// waitFor fails the test unless holds returns true within half a minute.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for by := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(by) {
			t.Fatalf("%s: waited 30s", what)
		}
	}
}

// isGone reports whether a process has ended. A zombie that nobody has reaped counts as ended.
func isGone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(state), ") Z ")
}
