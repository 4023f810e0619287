//go:build unix

package python_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// user is a user id without a name, files or processes.
const user = 54321

// unprivileged reports whether the test runs without root's rights. As root it runs the test again
// in a process of another user.
func unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	need.Program(t, "/usr/bin/python3")
	dir, err := os.MkdirTemp("", "python")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	program := filepath.Join(dir, "test")
	if err := copyFile(program, os.Args[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if os.IsPermission(err) {
		need.Missing(t, "another user cannot run a program in the temporary directory: "+err.Error())
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as user %d: %v\n%s", user, err, out)
	}
	return false
}

func copyFile(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	return w.Close()
}
