// Package testrpm creates a system with RPM in a directory for tests: real packages, a real
// database, and a minimal dnf that uses the real rpm.
package testrpm

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

//go:embed dnf.sh
var dnf string

// A Host is a system in a directory.
type Host struct {
	Root string // the installed system
	Repo string // packages that dnf can install
	Log  string // a line for each call of dnf
	t    *testing.T
}

// Pkg is a package to build. It has a file of its name below /etc, which is a configuration file,
// and one below /usr/share.
type Pkg struct {
	Name, Version, Release string
	Epoch                  string
	Text                   string // of its files; "" means the version
}

// New creates a system, and puts its programs, rpm and the one named by program, into the search
// path. The test is skipped if RPM is missing, unless BRINE_REQUIRE_ALL is set.
func New(t *testing.T, program string) *Host {
	t.Helper()
	real, err := exec.LookPath("rpm")
	need.That(t, "RPM", err)
	need.Program(t, "rpmbuild")
	dir := t.TempDir()
	h := &Host{Root: filepath.Join(dir, "root"), Repo: filepath.Join(dir, "repo"),
		Log: filepath.Join(dir, "log"), t: t}
	bin := filepath.Join(dir, "bin")
	for _, d := range []string{h.Root + "/var/lib/rpm", h.Repo, bin, h.Root + "/etc/yum.repos.d",
		h.Root + "/etc/dnf"} {
		h.must(os.MkdirAll(d, 0o755))
	}
	h.script(bin, "rpm", fmt.Sprintf("#!/bin/sh\nexec %s --dbpath /var/lib/rpm --root %s \"$@\"\n",
		real, h.Root))
	h.script(bin, program, strings.NewReplacer("@REPO@", h.Repo, "@STATE@", dir,
		"@LOG@", h.Log).Replace(dnf))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return h
}

func (h *Host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *Host) script(dir, name, text string) {
	h.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
}

// Build builds packages, adds them to the repository and returns their files.
func (h *Host) Build(pkgs ...Pkg) (files []string) {
	h.t.Helper()
	for _, p := range pkgs {
		if p.Text == "" {
			p.Text = p.Version
		}
		top := h.t.TempDir()
		spec := filepath.Join(top, p.Name+".spec")
		h.must(os.WriteFile(spec, []byte(p.spec()), 0o644))
		out, err := exec.Command("rpmbuild", "-bb", "--quiet", "--define", "_topdir "+top,
			"--define", "_rpmdir "+h.Repo, "--define",
			"_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
			"--define", "_buildhost builder", "--define", "_binary_payload w0.gzdio",
			spec).CombinedOutput()
		if err != nil {
			h.t.Fatalf("rpmbuild: %v\n%s", err, out)
		}
		files = append(files, filepath.Join(h.Repo,
			fmt.Sprintf("%s-%s-%s.noarch.rpm", p.Name, p.Version, p.Release)))
	}
	return files
}

func (p Pkg) spec() string {
	epoch := ""
	if p.Epoch != "" {
		epoch = "Epoch: " + p.Epoch + "\n"
	}
	return fmt.Sprintf(`Name: %[1]s
Version: %[2]s
Release: %[3]s
%[4]sSummary: A package to try
License: MIT
Vendor: Brine
URL: https://example.com/%[1]s
BuildArch: noarch
%%description
It is there to be tried.

It has two paragraphs.
%%install
mkdir -p %%{buildroot}/etc %%{buildroot}/usr/share
echo %[5]s > %%{buildroot}/etc/%[1]s.conf
echo %[5]s > %%{buildroot}/usr/share/%[1]s
%%files
%%config /etc/%[1]s.conf
/usr/share/%[1]s
`, p.Name, p.Version, p.Release, epoch, p.Text)
}

// Install installs package files with rpm itself.
func (h *Host) Install(files ...string) {
	h.t.Helper()
	out, err := exec.Command("rpm",
		append([]string{"-U", "--nodeps", "--noscripts"}, files...)...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("rpm: %v\n%s", err, out)
	}
}

// Calls returns the calls of dnf since the last call of Calls.
func (h *Host) Calls() []string {
	h.t.Helper()
	text, err := os.ReadFile(h.Log)
	if os.IsNotExist(err) {
		return nil
	}
	h.must(err)
	h.must(os.Remove(h.Log))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
