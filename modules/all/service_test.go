package all

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Several modules have the name service. testdata/service.txt has the signatures of each.
func TestSignaturesOfServicesAreSalts(t *testing.T) {
	src, err := os.ReadFile("testdata/service.txt")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, c := range []struct{ file, os, kernel string }{{"debian_service", "Debian", ""}, {"gentoo_service", "Alpine", ""}, {"linux_service", "Void", "Linux"},
		{"rh_service", "ALT", ""}, {"systemd_service", "Ubuntu", "Linux"}} {
		if c.file == "systemd_service" {
			if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var own []loader.Plugin
		for _, p := range Plugins(Brought()) {
			if p.File == c.file {
				own = append(own, p)
			}
		}
		r, err := loader.NewRegistry(&loader.Env{Root: root, Grains: func() *data.Map { return data.NewMap("os", c.os, "kernel", c.kernel) }}, own)
		if err != nil || r.Provider("service") != c.file {
			t.Fatalf("%s is no provider of service: %v", c.file, err)
		}
		want := 0
		for line := range strings.Lines(string(src)) {
			want += strings.Count(line, c.file+".")
		}
		got := 0
		for _, fun := range r.Select("service") {
			f, _ := r.Func(fun)
			if got++; !strings.Contains(string(src), c.file+"."+signature(f.Spec())+"\n") {
				t.Errorf("Salt has no %s of %s", signature(f.Spec()), c.file)
			}
		}
		if got != want {
			t.Errorf("%s has %d functions, Salt's %d", c.file, got, want)
		}
	}
}
