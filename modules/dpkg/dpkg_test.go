package dpkg

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A host replaces dpkg with its output on Debian 12.
type host struct {
	root   string
	purged bool
}

type runArgs struct {
	Cmd    []any
	Kwargs *data.Map `kwargs:"kwargs"`
}

func (h *host) run(_ context.Context, a runArgs) (any, error) {
	out, code := "", 0
	switch line := data.Str(a.Cmd[len(a.Cmd)-1]); {
	case a.Cmd[0] == "dpkg-deb":
		out = "Package: own-thing\nVersion: 1:1.0-1\nArchitecture: i386\n"
	case a.Cmd[1] == "--set-selections":
		h.purged = h.purged && a.Kwargs.Text("stdin") != "curl install\nwget install\n"
	case a.Cmd[1] == "-L":
		out = "/.\n/usr/bin/" + line + "\n"
	case line == "nothing":
		return data.NewMap("retcode", int64(1), "stdout", "", "stderr",
			"dpkg-query: no packages found matching nothing"), nil
	case strings.Contains(data.Str(a.Cmd[2]), "description:"):
		out = "package:hello\nrevision:3\nsummary:\nstatus:ii \ndescription:a thing\n that: says hello\n\n" + end
	case strings.Contains(data.Str(a.Cmd[1]), "${Version}"):
		out = "installed\thello\t2.10-3\nconfig-files\tmc\t4\n"
	default:
		out = "installed\thello\nconfig-files\tmc\n"
	}
	out = strings.TrimRight(out, " \t\n\x1c\x1d\x1e\x1f") // cmd strips what Python considers white space
	return data.NewMap("retcode", int64(code), "stdout", out, "stderr", ""), nil
}

func (h *host) plugins() []loader.Plugin {
	one := func(module string, f loader.Func) loader.Plugin {
		return loader.Plugin{Name: module,
			New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: []loader.Func{f}}, nil }}
	}
	return []loader.Plugin{
		one("cmd", loader.F("run_all", h.run)),
		one("config", loader.F("valid_fileproto",
			func(context.Context, struct{ Path any }) (any, error) { return false, nil })),
		one("pkg", loader.F("list_pkgs", func(context.Context, kwPackagesArgs) (any, error) {
			if h.purged {
				return data.NewMap("curl", "7"), nil
			}
			return &data.Map{}, nil
		})),
		Plugin(),
	}
}

func TestFunctions(t *testing.T) {
	h := &host{root: t.TempDir(), purged: true}
	deb := filepath.Join(h.root, "own.deb")
	for _, file := range []string{deb, filepath.Join(h.root, "usr/share/doc/hello/copyright")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("License: MIT\nLicense: GPL-3\nLicense: MIT\n"),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	grains := data.NewMap("os_family", "Debian", "cpuarch", "x86_64", "osarch", "amd64")
	r, err := loader.NewRegistry(&loader.Env{Root: h.root,
		Grains: func() *data.Map { return grains }}, h.plugins())
	if err != nil {
		t.Fatal(err)
	}
	hello := data.NewMap("package", "hello", "revision", "3", "status", "ii", "description",
		"a thing\n that: says hello\n", "license", "GPL-3, MIT")
	for _, c := range []struct {
		fun  string
		args []any
		want any
	}{
		{"bin_pkg_info", []any{deb}, data.NewMap("name", "own-thing:i386", "version", "1:1.0-1",
			"arch", "i386")},
		{"list_pkgs", nil, data.NewMap("hello", "2.10-3")},
		{"list_pkgs", []any{"nothing"}, "Error:  dpkg-query: no packages found matching nothing"},
		{"file_list", []any{"hello"}, data.NewMap("errors", []any{}, "files", []any{"/.", "/usr/bin/hello"})},
		{"file_dict", []any{"hello"}, data.NewMap("errors", []any{},
			"packages", data.NewMap("hello", []any{"/.", "/usr/bin/hello"}))},
		{"info", []any{"hello"}, data.NewMap("hello", hello)},
		{"unpurge", []any{}, data.NewMap()},
	} {
		for range 2 {
			if got, err := r.Invoke(t.Context(), "lowpkg."+c.fun, c.args, nil); err != nil ||
				!data.Equal(got, c.want) {
				t.Errorf("%s %s = %s, %v, want %s", c.fun, data.Repr(c.args), data.Repr(got), err,
					data.Repr(c.want))
			}
		}
	}
	for _, want := range []*data.Map{data.NewMap("curl", data.NewMap("new", "", "old", "7")), {}} {
		if got, err := r.Invoke(t.Context(), "lowpkg.unpurge", []any{"curl", "wget"},
			nil); err != nil || !data.Equal(got, want) {
			t.Errorf("unpurge = %s, %v, want %s", data.Repr(got), err, data.Repr(want))
		}
	}
	if got, err := r.Invoke(t.Context(), "lowpkg.bin_pkg_info", []any{"/no/such.deb"}, nil); err == nil {
		t.Errorf("a file that is not there has %s", data.Repr(got))
	}
	if got, err := r.Invoke(t.Context(), "lowpkg.info", []any{"nothing"}, nil); err == nil {
		t.Errorf("a package that is not there has %s", data.Repr(got))
	}
}

func FuzzInfo(f *testing.F) {
	f.Add("package:a\nstatus:ii \ndescription:b\n" + end)
	f.Fuzz(func(_ *testing.T, text string) { parseInfo(text) })
}
