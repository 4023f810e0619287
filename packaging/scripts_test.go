package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
)

// TestScriptsAreShell parses every script with the shell; placeholders of templates must be filled.
func TestScriptsAreShell(t *testing.T) {
	dir := staged(t)
	scripts := files(t, dir, "sysv/*", "openrc/*", "default/*", "deb/*", "rpm/*", "libexec/*")
	for _, file := range append(scripts, files(t, sources.Root(t), "scripts/*.sh")...) {
		in(t, dir, "sh", "-n", file)
	}
	open := regexp.MustCompile(`@[A-Z]+@`)
	for _, file := range append(scripts, files(t, dir, "logrotate/*", "systemd/*")...) {
		if at := open.FindString(text(t, file)); at != "" {
			t.Errorf("%s has %s", file, at)
		}
	}
}

// TestServicesAreComplete checks that each daemon has all files of a service.
func TestServicesAreComplete(t *testing.T) {
	dir := staged(t)
	for _, name := range []string{"salt-master", "salt-minion", "salt-syndic", "salt-api"} {
		_, err := os.Stat(filepath.Join(sources.Root(t), "cmd", name))
		built := err == nil
		for _, file := range []string{"systemd/" + name + ".service", "sysv/" + name, "openrc/" +
			name, "default/" + name, "logrotate/" + name} {
			if _, err := os.Stat(filepath.Join(dir, file)); (err == nil) != built {
				t.Errorf("%s is built: %v; %s: %v", name, built, file, err)
			}
		}
		if built && !strings.Contains(text(t, filepath.Join(dir, "sysv", name)),
			"\n# Provides:          "+name+"\n") {
			t.Errorf("the script of %s provides something else", name)
		}
	}
}

// TestUnits checks the units with systemd. Their programs are replaced by an existing one.
func TestUnits(t *testing.T) {
	requires(t, false, "systemd-analyze")
	dir := t.TempDir()
	program := regexp.MustCompile(`/usr/bin/salt-\w+`)
	for _, file := range files(t, "systemd", "*.service") {
		body := program.ReplaceAllString(text(t, file), "/bin/true")
		copied := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(copied, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		if out := in(t, dir, "systemd-analyze", "verify", "--man=no", copied); strings.Contains(out, copied) {
			t.Errorf("systemd says of %s:\n%s", file, out)
		}
	}
}
