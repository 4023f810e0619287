package rpm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/testrpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

type nameArgs struct {
	Name  any
	Other any `default:"None"`
}

func plugin(name string, funcs ...loader.Func) loader.Plugin {
	return loader.Plugin{Name: name,
		New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: funcs}, nil }}
}

// registry returns the module on a system of the Red Hat family.
func registry(t *testing.T, run loader.Plugin) *loader.Registry {
	t.Helper()
	env := &loader.Env{Opts: &data.Map{}, Grains: func() *data.Map {
		return data.NewMap("os", "CentOS", "os_family", "RedHat", "osarch", "x86_64", "shell", "/bin/sh")
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{
		run, Plugin(),
		plugin("config", loader.F("valid_fileproto", func(_ context.Context, a nameArgs) (any, error) {
			return strings.Contains(data.Str(a.Name), "://"), nil
		})),
		plugin("file", loader.F("file_exists", func(_ context.Context, a nameArgs) (any, error) {
			_, err := os.Stat(data.Str(a.Name))
			return err == nil, nil
		})),
		plugin("cp", loader.F("cache_file", func(_ context.Context, a nameArgs) (any, error) {
			if path := "/" + strings.TrimPrefix(data.Str(a.Name), "salt://"); path != "/none" {
				return path, nil
			}
			return "", nil
		})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func want(t *testing.T, r *loader.Registry, fun string, args []any, kwargs, want any) {
	t.Helper()
	for range 2 {
		words, _ := kwargs.(*data.Map)
		got, err := r.Invoke(t.Context(), "lowpkg."+fun, args, words.Clone())
		if err != nil {
			got = calls.Text(err)
		}
		if !data.Equal(got, want) {
			t.Errorf("%s %s %s gives\n%s\nwant\n%s", fun, data.Repr(args), data.Repr(kwargs),
				data.Repr(got), data.Repr(want))
		}
	}
}

func TestRealPackages(t *testing.T) {
	h := testrpm.New(t, "dnf")
	files := h.Build(testrpm.Pkg{Name: "salt-try", Version: "1.0~rc1", Release: "2", Epoch: "3"},
		testrpm.Pkg{Name: "brine-try", Version: "2.0", Release: "1"})
	h.Install(files...)
	r := registry(t, cmd.Plugin(render.Brought{}))
	want(t, r, "list_pkgs", nil, nil, data.NewMap("brine-try", "2.0", "salt-try", "1.0~rc1"))
	want(t, r, "list_pkgs", []any{"brine-try", "none"}, nil, data.NewMap("brine-try", "2.0"))
	want(t, r, "file_list", []any{"brine-try"}, nil,
		data.NewMap("errors", []any{}, "files", []any{"/etc/brine-try.conf", "/usr/share/brine-try"}))
	want(t, r, "file_dict", []any{"brine-try", "none"}, nil,
		data.NewMap("errors", []any{"package none is not installed"},
			"packages", data.NewMap("brine-try", []any{"/etc/brine-try.conf", "/usr/share/brine-try"})))
	want(t, r, "owner", []any{"/etc/salt-try.conf"}, nil, "salt-try")
	want(t, r, "owner", nil, nil, "")
	if err := os.WriteFile(filepath.Join(h.Root, "etc/mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, r, "owner", []any{"/etc/salt-try.conf", "/etc/mine"}, nil,
		data.NewMap("/etc/salt-try.conf", "salt-try", "/etc/mine", ""))
	want(t, r, "bin_pkg_info", []any{files[0]}, nil,
		data.NewMap("name", "salt-try", "version", "3:1.0~rc1-2", "arch", "noarch", "repoid", "none",
			"install_date", nil, "install_date_time_t", nil))
	want(t, r, "bin_pkg_info", []any{"salt:/" + files[1]}, nil,
		data.NewMap("name", "brine-try", "version", "2.0-1", "arch", "noarch", "repoid", "none",
			"install_date", nil, "install_date_time_t", nil))
	want(t, r, "bin_pkg_info", []any{"salt://none"}, nil,
		"salt.exceptions.CommandExecutionError: Unable to retrieve salt://none from saltenv 'base'")
	want(t, r, "bin_pkg_info", []any{"/none"}, nil,
		"salt.exceptions.CommandExecutionError: /none does not exist on minion")
	want(t, r, "bin_pkg_info", []any{"/bin/sh"}, nil, nil)
	want(t, r, "checksum", []any{files[0], "/none", "/bin/sh"}, nil,
		data.NewMap(files[0], true, "/none", false, "/bin/sh", false))
	info, err := r.Invoke(t.Context(), "lowpkg.info", []any{"salt-try"}, nil)
	p, _ := info.(*data.Map).Value("salt-try").(*data.Map)
	if err != nil || p.Text("version") != "1.0~rc1" || p.Text("release") != "2" ||
		p.Text("epoch") != "3" || p.Text("vendor") != "Brine" ||
		p.Text("description") != "It is there to be tried.\n\nIt has two paragraphs." ||
		p.Text("build_host") != "builder" || p.Text("source_rpm") != "salt-try-1.0~rc1-2.src.rpm" ||
		!strings.HasSuffix(p.Text("install_date"), "Z") ||
		p.Value("install_date_time_t").(int64) < 1e9 || p.Has("edition") ||
		p.Text("relocations") != "(not relocatable)" {
		t.Errorf("info gives %s, %v", data.Repr(info), err)
	}
	want(t, r, "info", []any{"brine-try"}, data.NewMap("attr", "version,url", "all_versions", true),
		data.NewMap("brine-try", []any{data.NewMap("version", "2.0", "url",
			"https://example.com/brine-try", "edition", "2.0-1")}))
	want(t, r, "info", nil, data.NewMap("attr", "nothing"),
		"salt.exceptions.CommandExecutionError: No valid attributes found.")
}

func TestVerifyRealPackages(t *testing.T) {
	h := testrpm.New(t, "dnf")
	h.Install(h.Build(testrpm.Pkg{Name: "brine-try", Version: "2.0", Release: "1"})...)
	r := registry(t, cmd.Plugin(render.Brought{}))
	want(t, r, "verify", []any{"brine-try"}, nil, data.NewMap())
	want(t, r, "modified", []any{"brine-try"}, nil, data.NewMap())
	want(t, r, "verify", []any{"none"}, data.NewMap("ignore_types", int64(1)),
		"salt.exceptions.SaltInvocationError: ignore_types must be a list or a comma-separated string")
	for file, text := range map[string]string{"etc/brine-try.conf": "other\n", "usr/share/brine-try": ""} {
		if err := os.Remove(filepath.Join(h.Root, file)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.Root, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(h.Root, "usr/share/brine-try")); err != nil {
		t.Fatal(err)
	}
	// RPM compares whole seconds, and the package was built in the current one.
	if later := time.Now().Add(time.Hour); os.Chtimes(filepath.Join(h.Root, "etc/brine-try.conf"),
		later, later) != nil {
		t.Fatal("the time of the changed file cannot be set")
	}
	conf := data.NewMap("mismatch", []any{"size", "md5sum", "mtime"}, "type", "config")
	missing := data.NewMap("missing", true)
	want(t, r, "verify", []any{"brine-try"}, nil,
		data.NewMap("/etc/brine-try.conf", conf, "/usr/share/brine-try", missing))
	want(t, r, "verify", []any{"brine-try"}, data.NewMap("ignore_types", "config, doc"),
		data.NewMap("/usr/share/brine-try", missing))
	want(t, r, "verify", []any{"brine-try"},
		data.NewMap("ignore_types", []any{"config"}, "verify_options", "nofiles"), data.NewMap())
}

type runArgs struct {
	Cmd    []string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// answering returns a module cmd whose programs always print the same.
func answering(code int64, out, errs string) loader.Plugin {
	return plugin("cmd", loader.F("run_all", func(context.Context, runArgs) (any, error) {
		return data.NewMap("retcode", code, "stdout", out, "stderr", errs), nil
	}))
}

func needRPM(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rpm"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// The texts are the output of rpm 4.11 on CentOS 7.
func TestModified(t *testing.T) {
	needRPM(t)
	r := registry(t, answering(1, "S.5....T.  c /etc/httpd/conf/httpd.conf\n.M.......    /var/log/httpd\n.......T.    /usr/share/doc/a b\nmissing     /usr/bin/x\n", ""))
	got, err := r.Invoke(t.Context(), "lowpkg.modified", []any{"httpd"}, data.NewMap("size", true))
	if wanted := data.NewMap("/etc/httpd/conf/httpd.conf",
		[]any{"size", "checksum", "time", "config"}); err != nil ||
		!data.Equal(got.(*data.Map).Value("/etc/httpd/conf/httpd.conf"),
			wanted.Value("/etc/httpd/conf/httpd.conf")) || got.(*data.Map).Has("/var/log/httpd") {
		t.Errorf("got %s, %v", data.Repr(got), err)
	}
	want(t, r, "modified", nil, data.NewMap("mode", true, "size", false),
		data.NewMap("/var/log/httpd", []any{"mode"}))
	r = registry(t, answering(2, "x", "no"))
	want(t, r, "modified", nil, nil, data.NewMap("retcode", int64(2), "stderr", "no"))
	r = registry(t, answering(1, "", "package x is not installed"))
	want(t, r, "verify", []any{"x"}, nil,
		"salt.exceptions.CommandExecutionError: Failed to verify package(s): package x is not installed")
	want(t, r, "checksum", nil, nil,
		"salt.exceptions.CommandExecutionError: No package files has been specified.")
}

func TestVersionCmp(t *testing.T) {
	needRPM(t)
	r := registry(t, answering(0, "", ""))
	for _, tt := range []struct {
		a, b any
		want int64
	}{{"1", "2", -1}, {"1:1-1", "2-2", 1}, {"1.0-1", "1.0", 0}, {2.5, "2.5", 0}} {
		want(t, r, "version_cmp", []any{tt.a, tt.b}, nil, tt.want)
	}
	want(t, r, "version_cmp", []any{"1:1-1", "2-2"}, data.NewMap("ignore_epoch", true), int64(-1))
}

func TestDiff(t *testing.T) {
	needRPM(t)
	dir := os.Getenv("PATH")[:strings.Index(os.Getenv("PATH"), ":")]
	for _, name := range []string{"rpm2cpio", "cpio"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	said := ""
	var line string
	r := registry(t, plugin("cmd", loader.F("shell", func(_ context.Context, a struct {
		Cmd    string
		Kwargs *data.Map `kwargs:"kwargs"`
	}) (any, error) {
		line = a.Cmd
		return said, nil
	})))
	want(t, r, "diff", []any{"/a.rpm", "/etc/it's"}, nil, "")
	if line != `rpm2cpio '/a.rpm' | cpio -i --quiet --to-stdout './etc/it'\''s' | diff -u --label 'A /etc/it'\''s' --from-file=- --label 'B /etc/it'\''s' '/etc/it'\''s'` {
		t.Errorf("it ran %s", line)
	}
	said = "Binary files A and B differ"
	want(t, r, "diff", []any{"/a.rpm", "/b"}, nil, "File '/b' is binary and its content has been modified.")
}

func TestOtherSystems(t *testing.T) {
	needRPM(t)
	for system, ok := range map[string]bool{"openEuler": true, "Debian": false, "Amazon": true} {
		r, err := loader.NewRegistry(&loader.Env{Grains: func() *data.Map { return data.NewMap("os", system, "os_family", system) }}, []loader.Plugin{Plugin()})
		if err != nil || r.Has("lowpkg.info") != ok {
			t.Errorf("on %s there is %v, %v", system, r.Has("lowpkg.info"), errors.Join(err))
		}
	}
}

func FuzzVerified(f *testing.F) {
	f.Add("S.5....T.  c /etc/a\nmissing   d /b\n")
	f.Fuzz(func(t *testing.T, text string) {
		_ = verified(text, []string{"config"})
		_ = differing(text)
		if n := len(parts(text)); n > len(text)+1 {
			t.Errorf("%d parts", n)
		}
	})
}
