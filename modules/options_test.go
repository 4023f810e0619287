//go:build linux && !small

package modules_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
)

// Names that are passed to functions must reach programs as names or not at all; no program may
// parse them as options.
func TestNamesAreNoOptions(t *testing.T) {
	bin := t.TempDir()
	for name := range strings.FieldsSeq(`apt-cache apt-get apt-mark blkid blockdev df dpkg dpkg-query iostat lsblk lsmod mkfs modprobe mount pip resize2fs rmmod
		swapon sync sysctl systemctl tune2fs virtualenv wipefs`) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	var ran [][]string
	grains := data.NewMap("os", "Debian", "os_family", "Debian", "kernel", "Linux", "osarch",
		"amd64", "cpuarch", "x86_64", "osmajorrelease", int64(12))
	funcs, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1"),
		Grains: func() *data.Map { return grains },
		Run: func(_ context.Context, c *exec.Cmd) error {
			ran = append(ran, c.Args)
			return nil
		}}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fun  string
		args []any // NAME is the name
		more []any
	}{
		{"disk.blkid", []any{"NAME"}, nil},
		{"disk.dump", []any{"NAME"}, nil},
		{"disk.format", []any{"NAME"}, nil},
		{"disk.fstype", []any{"NAME"}, nil},
		{"disk.iostat", []any{}, []any{"disks", "NAME"}},
		{"disk.resize2fs", []any{"NAME"}, nil},
		{"disk.tune", []any{"NAME"}, []any{"read-ahead", int64(1)}},
		{"disk.wipe", []any{"NAME"}, nil},
		{"kmod.load", []any{"NAME"}, nil},
		{"kmod.remove", []any{"NAME"}, nil},
		{"lowpkg.info", []any{"NAME"}, nil},
		{"lowpkg.list_pkgs", []any{"NAME"}, nil},
		{"lowpkg.file_list", []any{"NAME"}, nil},
		{"mount.mount", []any{"NAME", "/dev/x"}, nil},
		{"mount.mount", []any{"/mnt", "NAME"}, nil},
		{"mount.remount", []any{"/mnt", "NAME"}, nil},
		{"mount.swapon", []any{"NAME"}, nil},
		{"pip.install", []any{"NAME"}, []any{"bin_env", filepath.Join(bin, "pip")}},
		{"pip.uninstall", []any{"NAME"}, []any{"bin_env", filepath.Join(bin, "pip")}},
		{"pkg.get_selections", []any{"NAME"}, nil},
		{"pkg.install", []any{"NAME"}, nil},
		{"pkg.latest_version", []any{"NAME"}, nil},
		{"pkg.list_repo_pkgs", []any{"NAME"}, nil},
		{"pkg.owner", []any{"NAME"}, nil},
		{"pkg.show", []any{"NAME"}, nil},
		{"service.show", []any{"NAME"}, nil},
		{"sysctl.get", []any{"NAME"}, nil},
		{"virtualenv.create", []any{"NAME"}, nil},
	} {
		call := func(name string) bool {
			ran = nil
			args, more := slices.Clone(c.args), slices.Clone(c.more)
			for _, list := range [][]any{args, more} {
				for i := range list {
					if list[i] == "NAME" {
						list[i] = name
					}
				}
			}
			// programs that say nothing make many an error
			_, _ = funcs.Invoke(t.Context(), c.fun, args, data.NewMap(more...))
			return slices.ContainsFunc(ran, func(line []string) bool {
				at := slices.IndexFunc(line, func(word string) bool { return strings.HasPrefix(word, name) })
				return at >= 0 && !slices.Contains(line[:at], "--")
			})
		}
		if !call("name") {
			t.Errorf("%s %v: no program got a valid name: %q", c.fun, c.args, ran)
		}
		if call("--evil=x") {
			t.Errorf("%s %v: a program gets the option: %q", c.fun, c.args, ran)
		}
	}
}
