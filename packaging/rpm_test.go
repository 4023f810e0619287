package packaging

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
)

// placeholders returns a directory with a file for each program, which suffices for inspecting
// packages.
func placeholders(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	for _, dir := range files(t, sources.Root(t), "cmd/salt*") {
		if err := os.WriteFile(filepath.Join(bin, filepath.Base(dir)), []byte("#!/bin/sh\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// packages writes the packages of a format and returns their files by package name.
func packages(t *testing.T, format, version, arch string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for file := range strings.FieldsSeq(in(t, sources.Root(t), "sh", "scripts/packages.sh", format,
		"go", version, arch, placeholders(t), t.TempDir())) {
		name, _, _ := strings.Cut(filepath.Base(file), map[string]string{"deb": "_0", "rpm": "-0"}[format])
		out[name] = file
	}
	return out
}

// TestPackagesAreForTheirMachines checks that packages use Debian's and RPM's names of
// architectures.
func TestPackagesAreForTheirMachines(t *testing.T) {
	for arch, want := range map[string][2]string{
		"amd64": {"amd64", "x86_64"}, "arm7": {"armhf", "armv7hl"},
	} {
		if got := packages(t, "deb", "v0.1.0", arch)["salt-minion"]; !strings.HasSuffix(got,
			"/salt-minion_0.1.0_"+want[0]+".deb") {
			t.Errorf("deb for %s is %s", arch, got)
		}
		if got := packages(t, "rpm", "v0.1.0", arch)["salt-minion"]; !strings.HasSuffix(got,
			"/salt-minion-0.1.0-1."+want[1]+".rpm") {
			t.Errorf("rpm for %s is %s", arch, got)
		}
	}
}

// TestRPMLifecycle installs, upgrades and erases the packages in an empty root. Their scripts do
// not run: there is no shell.
func TestRPMLifecycle(t *testing.T) {
	requires(t, true, "rpm")
	root := t.TempDir()
	rpm := func(args ...string) string {
		return in(t, root, append([]string{"rpm", "--root", root}, args...)...)
	}
	install := func(version string) {
		all := packages(t, "rpm", version, "amd64")
		rpm("-U", "--noscripts", "--nodeps", "--ignorearch", all["salt"], all["salt-master"],
			all["salt-minion"])
	}
	install("v0.1.0")
	for file, mode := range map[string]os.FileMode{
		"usr/bin/salt": 0o755, "usr/bin/salt-call": 0o755, "etc/salt/master": 0o644,
		"etc/salt/minion": 0o640, "etc/sysconfig/salt-minion": 0o644,
		"usr/lib/systemd/system/salt-master.service": 0o644, "usr/libexec/salt/service": 0o755,
		"etc/logrotate.d/salt-master": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, file)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	changed := "master: here\n"
	if err := os.WriteFile(filepath.Join(root, "etc/salt/minion"), []byte(changed), 0o640); err != nil {
		t.Fatal(err)
	}
	install("v0.2.0")
	if got := rpm("-q", "--qf", "%{VERSION}", "salt-minion"); !strings.HasSuffix(got, "0.2.0") {
		t.Errorf("installed is %s", got)
	}
	if got := text(t, filepath.Join(root, "etc/salt/minion")); got != changed {
		t.Errorf("the changed configuration became %q", got)
	}
	requires := strings.Split(rpm("-q", "--requires", "salt-minion"), "\n")
	if !slices.Contains(requires, "salt >= 0.2.0") {
		t.Errorf("salt-minion requires %q", requires)
	}
	rpm("-e", "--noscripts", "--nodeps", "salt", "salt-master", "salt-minion")
	left, err := filepath.Glob(filepath.Join(root, "etc/salt/*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "minion.rpmsave" {
		t.Errorf("left behind: %q, %v", left, err)
	}
}
