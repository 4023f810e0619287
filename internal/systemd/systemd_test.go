package systemd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestBooted(t *testing.T) {
	root := t.TempDir()
	if Booted(root) {
		t.Error("an empty system is booted with systemd")
	}
	if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !Booted(root) {
		t.Error("it is not booted with systemd")
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]int{
		"systemd 252 (252.39-1~deb12u1)\n+PAM +AUDIT +SELINUX\n": 252, // Debian 12
		"systemd 219\n+PAM +AUDIT\n":                             219, // CentOS 7
		"systemd 257~rc1\n":                                      257,
		"systemd\n":                                              0,
		"no such thing\n":                                        0,
		"":                                                       0,
	} {
		run := func(_ context.Context, cmd *exec.Cmd) error {
			_, err := cmd.Stdout.Write([]byte(text))
			return err
		}
		if got, err := Version(t.Context(), run); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q gives %d, %v", text, got, err)
		}
	}
	broken := func(context.Context, *exec.Cmd) error { return errors.New("no such program") }
	if _, err := Version(t.Context(), broken); err == nil {
		t.Error("without the program there is a version")
	}
}

func FuzzVersion(f *testing.F) {
	f.Add("systemd 252 (252.39-1~deb12u1)\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseVersion(text); err == nil && n < 0 {
			t.Errorf("%q gives %d", text, n)
		}
	})
}
