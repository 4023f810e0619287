package minion_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestStartupStatesWithoutMaster has a minion without a master write into a pipe, as there is
// nobody to be told.
func TestStartupStatesWithoutMaster(t *testing.T) {
	states, dir := testsalt.Dir(t), testsalt.Dir(t)
	pipe, mark := filepath.Join(dir, "pipe"), filepath.Join(dir, "mark")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	text := "'touch " + mark + "; echo here > " + pipe + "':\n  cmd.run\n"
	for _, name := range []string{"a.sls", "top.sls"} {
		if err := os.WriteFile(filepath.Join(states, name),
			[]byte(map[string]string{"a.sls": text, "top.sls": "base: {'*': [a]}\n"}[name]),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := "id: web1\nroot_dir: " + dir + "\nsock_dir: " + filepath.Join(dir, "run") +
		"\nmaster_type: disable\nstartup_states: highstate\nfile_roots: {base: [" + states + "]}\n"
	remote := testsalt.StartMinion(t, writeMinion(t, dir, "minion", options))
	if err := remote.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("states were applied without file_client: local")
	}
	local := testsalt.StartMinion(t, writeMinion(t, dir, "minion", options+"file_client: local\n"))
	if said, err := os.ReadFile(pipe); err != nil || string(said) != "here\n" {
		t.Errorf("the states wrote %q, %v", said, err)
	}
	if err := local.Stop(); err != nil {
		t.Error(err)
	}
}
