package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/signatures"
	"github.com/brineproject/brine/loader"
)

// testdata/packages.txt has the signatures of the providers of pkg and lowpkg that work on other
// systems.
// systems than this one.
func TestPackageManagerSignaturesMatchSalt(t *testing.T) {
	src, err := os.ReadFile("testdata/packages.txt")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"dnf", "rpm", "zypper"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	for file, family := range map[string]string{"aptsources": "Debian", "yumpkg": "RedHat",
		"rpm_lowpkg": "RedHat", "zypperpkg": "Suse", "apkpkg": "Alpine", "pacmanpkg": "Arch"} {
		want := map[string]bool{}
		for line := range strings.Lines(string(src)) {
			if f, ok := strings.CutPrefix(strings.TrimSpace(line), file+"."); ok {
				want[f] = true
			}
		}
		for line := range provided(t, file, family) {
			if !want[line] {
				t.Errorf("Salt has no %s of %s", line, file)
			}
			delete(want, line)
		}
		for line := range want {
			t.Errorf("%s has no %s", file, line)
		}
	}
}

// provided returns the signatures of a provider on a system of a family.
func provided(t *testing.T, file, family string) map[string]bool {
	t.Helper()
	var own []loader.Plugin
	module := ""
	for _, p := range Plugins(Brought()) {
		if p.File == file {
			own, module = append(own, p), p.Name
		}
	}
	grains := func() *data.Map { return data.NewMap("os", family, "os_family", family) }
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}, Grains: grains}, own)
	if err != nil || r.Provider(module) != file {
		t.Fatalf("%s is not a provider of %q: %v", file, module, err)
	}
	all := map[string]bool{}
	for _, fun := range r.Select(module) {
		f, _ := r.Func(fun)
		all[signatures.Of(f.Spec().Name, f.Spec()).String()] = true
		if !strings.Contains(f.Spec().Docstring(), "Example:\n") {
			t.Errorf("%s of %s has no example", fun, file)
		}
	}
	return all
}
