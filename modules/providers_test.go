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

// The signatures of modules that need a certain system, such as the name service's modules, are in
// testdata/providers.txt.
func TestProviderSignaturesMatchSalt(t *testing.T) {
	src, err := os.ReadFile("testdata/providers.txt")
	if err != nil {
		t.Fatal(err)
	}
	root, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"a2enconf", "apache2ctl", "debconf-get-selections", "dig", "docker-compose",
		"firewall-cmd", "gluster", "lsblk", "lvm", "nginx", "parted",
		"partprobe", "pdbedit", "pecl", "semanage", "semodule", "setsebool"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, c := range []struct {
		file, module, os,
		kernel string
	}{{"debian_service", "service", "Debian", ""}, {"gentoo_service", "service", "Alpine", ""},
		{"linux_service", "service", "Void", "Linux"}, {"rh_service", "service", "ALT", ""},
		{"systemd_service", "service", "Ubuntu", "Linux"},
		{"linux_sysctl", "sysctl", "", "Linux"}, {"kmod", "kmod", "", "Linux"}, {"linux_lvm", "lvm", "", "Linux"},
		{"firewalld", "firewalld", "", "Linux"}, {"selinux", "selinux", "", "Linux"},
		{"aptpkg", "pkg", "Debian", "Linux"}, {"dpkg_lowpkg", "lowpkg", "Debian", "Linux"},
		{"debconfmod", "debconf", "Debian", "Linux"},
		{"debian_ip", "ip", "Debian", ""}, {"rh_ip", "ip", "RedHat", ""}, {"suse_ip", "ip", "Suse", ""},
		{"apache", "apache", "Debian", "Linux"}, {"glusterfs", "glusterfs", "", "Linux"}, {"pecl", "pecl", "", "Linux"},
		{"dockercompose", "dockercompose", "", "Linux"},
		{"dig", "dig", "", "Linux"}, {"nginx", "nginx", "", "Linux"}, {"pdbedit", "pdbedit", "", "Linux"},
		{"parted_partition", "partition", "", "Linux"},
		{"x509_v2", "x509", "", "Linux"}} {
		if c.file == "systemd_service" {
			if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var own []loader.Plugin
		for _, p := range Plugins(Brought()) {
			if p.File == c.file || p.Name == c.file {
				own = append(own, p)
			}
		}
		r, err := loader.NewRegistry(&loader.Env{Root: root,
			Opts:   data.NewMap("features", data.NewMap("x509_v2", true)),
			Grains: func() *data.Map { return data.NewMap("os", c.os, "os_family", c.os, "kernel", c.kernel) }}, own)
		if err != nil || r.Provider(c.module) != c.file {
			t.Fatalf("%s is not a provider of %s: %v", c.file, c.module, err)
		}
		want := 0
		for line := range strings.Lines(string(src)) {
			want += strings.Count(line, c.file+".")
		}
		got := 0
		for _, fun := range r.Select(c.module) {
			f, _ := r.Func(fun)
			line := signatures.Of(c.file+"."+f.Spec().Name, f.Spec()).String()
			if got++; !strings.Contains(string(src), line+"\n") {
				t.Errorf("testdata/providers.txt has no line %s", line)
			}
		}
		if got != want {
			t.Errorf("%s has %d functions, Salt's %d", c.file, got, want)
		}
	}
}
