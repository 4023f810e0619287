package pip

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A python simulates the module pip: installed packages, and those in an index.
type python struct {
	has     *data.Map
	offered []any
	output  string // output of the next installation
	fails   bool
}

type anyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

func (p *python) plugin() loader.Plugin {
	f := func(name string, do func(k *data.Map, args []any) (any, error)) loader.Func {
		return loader.F(name, func(_ context.Context, a anyArgs) (any, error) { return do(a.Kwargs, a.Args) })
	}
	return loader.Plugin{Name: "pip", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			f("version", func(_ *data.Map, args []any) (any, error) {
				if args[0] == "/none" {
					return nil, loader.NotFound("Could not find a pip binary")
				}
				return "23.2.1", nil
			}),
			f("list", func(*data.Map, []any) (any, error) { return p.has.Clone(), nil }),
			f("list_all_versions", func(*data.Map, []any) (any, error) { return p.offered, nil }),
			f("list_upgrades", func(*data.Map, []any) (any, error) {
				if p.has.Text("old") == "1" {
					return data.NewMap("old", "2 [wheel]"), nil
				}
				return data.NewMap(), nil
			}),
			f("upgrade", func(*data.Map, []any) (any, error) {
				p.has.Set("old", "2")
				return data.NewMap("changes", data.NewMap("old", change.OldNew("1", "2")),
					"result", true, "comment", ""), nil
			}),
			f("install", p.install),
			f("uninstall", func(k *data.Map, _ []any) (any, error) {
				p.has.Delete(k.Value("pkgs"))
				return data.NewMap("retcode", int64(0)), nil
			}),
		}}, nil
	}}
}

func (p *python) install(k *data.Map, _ []any) (any, error) {
	if p.fails {
		return data.NewMap("retcode", int64(1), "stdout", "out", "stderr", "err"), nil
	}
	for text := range strings.SplitSeq(k.Text("pkgs"), ",") {
		if r, problem := parse(strings.ReplaceAll(text, ";", ",")); problem == "" && r.name != "" &&
			r.name != "lost" {
			p.has.Set(r.name, "4.2")
		}
	}
	return data.NewMap("retcode", int64(0), "stdout", p.output, "stderr", ""), nil
}

func registry(t *testing.T, p *python) *loader.Registry {
	t.Helper()
	funcs, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{p.plugin()})
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func run(t *testing.T, r *loader.Registry, test bool, fun string, words ...any) string {
	t.Helper()
	call := &change.Call{Test: test, Low: data.NewMap(), SaltEnv: "base", Run: "r"}
	v, err := r.Invoke(change.WithCall(t.Context(), call), "pip."+fun, nil, data.NewMap(words...))
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", fun, v, err)
	}
	return data.Repr(ret.Value("result")) + " " + data.Repr(ret.Value("changes")) + " " + ret.Text("comment")
}

// First test mode installs nothing, then the package is installed, then nothing is left to do. The
// comments are those of Salt 3006.0.
func TestThrice(t *testing.T) {
	const all = "\nAll specified packages are already installed"
	for _, c := range []struct {
		fun                string
		words              []any
		would, done, again string
	}{
		{"installed", []any{"name", "django"},
			"None {} Python package django is set to be installed",
			"True {'django==4.2': 'Installed'} All packages were successfully installed",
			"True {} Python package django was already installed" + all},
		{"installed", []any{"name", "My_Pkg[tls] >=4.0, <5"},
			"None {} Python package My_Pkg[tls] >=4.0, <5 is set to be installed",
			"True {'My-Pkg==4.2': 'Installed'} All packages were " +
				"successfully installed", "True {} Python package My_Pkg[tls] >=4.0, <5 was already installed" + all},
		{"installed", []any{"name", "x", "pkgs", []any{"a", data.NewMap("b", "==4.2"), "there"}},
			"None {} Python package(s) set to be installed:\na\nb ==4.2\nthere",
			"True {'a==4.2': 'Installed', 'b==4.2': 'Installed'} Python package there was already installed\nAll packages were successfully installed",
			"True {} Python package a was already installed\nPython package b ==4.2 was already installed\nPython package there was already installed" + all},
		{"installed", []any{"name", "there", "upgrade", true},
			"None {} Python package there is set to be installed",
			"True {'there==4.2': 'Installed'} All packages were " +
				"successfully installed", "True {} Python package there was already installed" + all +
				" and up-to-date"},
		{"installed", []any{"name", "there > 9", "upgrade", true},
			"True {} Python package there was already installed and\nthe available upgrade doesn't fulfills the version " +
				"requirements" + all + " and up-to-date", "", ""},
		{"removed", []any{"name", "there"}, "None {} Package there is set to be removed",
			"True {'there': 'Removed'} Package was successfully removed.",
			"True {} Package is not installed."},
		{"uptodate", []any{"name", "x"}, "None {} System update will be performed",
			"True {'changes': {'old': {'old': '1', 'new': '2'}}, 'result': True, 'comment': ''} Upgrade successful.",
			"True {} System is already up-to-date."},
	} {
		p := &python{has: data.NewMap("there", "1.0", "old", "1"), offered: []any{"1.0", "4.2"}}
		r := registry(t, p)
		got := []string{run(t, r, true, c.fun, c.words...), run(t, r, false, c.fun, c.words...),
			run(t, r, false, c.fun, c.words...), run(t, r, true, c.fun, c.words...)}
		if c.done == "" {
			c.done, c.again = c.would, c.would
		}
		if want := []string{c.would, c.done, c.again, c.again}; !slices.Equal(got, want) {
			t.Errorf("%s %s\n got %q\nwant %q", c.fun, data.Repr(c.words), got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	p := &python{has: data.NewMap(), output: "Collecting x\nSuccessfully installed x"}
	r := registry(t, p)
	words := []any{"name", "x", "requirements", "/r.txt"}
	for _, c := range []struct {
		test   bool
		output string
		fails  bool
		want   string
	}{
		{true, "", false, "None {} Requirements file '/r.txt' will be processed."},
		{false, "Collecting x\nInstalling collected packages: x", false,
			"True {'requirements': True} Successfully processed requirements file /r.txt."},
		{false, "Requirement already satisfied: x in y", false,
			"True {} Requirements were already installed."},
		{false, "", true, `False {} Unable to process requirements file "/r.txt" Error: out err`},
	} {
		p.output, p.fails = c.output, c.fails
		if got := run(t, r, c.test, "installed", words...); got != c.want {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	r := registry(t, &python{has: data.NewMap(), fails: true})
	for _, c := range []struct {
		words []any
		want  string
	}{
		{[]any{"name", "x", "pkgs", "a"}, "pkgs argument must be formatted as a list"},
		{[]any{"name", "x", "bin_env", "/none"}, "Error installing 'x': Could not find a pip binary"},
		{[]any{"name", "x=1"}, "Invalid version specification in package x=1. '=' is not supported, use '==' instead."},
		{[]any{"name", "x", "use_wheel", true},
			"The 'use_wheel' option is only supported in pip between 1.4 and 9.0.3. The version of pip detected was 23.2.1."},
		{[]any{"name", "x"}, "Failed to install packages: x. Error: out err"},
	} {
		for range 2 {
			if got := run(t, r, false, "installed", c.words...); got != "False {} "+c.want {
				t.Errorf("\n got %s\nwant %s", got, "False {} "+c.want)
			}
		}
	}
	lost := registry(t, &python{has: data.NewMap()})
	if got := run(t, lost, false, "installed", "name",
		"lost"); got != "True {} There was no error installing package 'lost' although it does not show when calling 'pip.freeze'." {
		t.Errorf("got %s", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a[b] >=1, <2; python_version > '3'")
	f.Add("git+https://h/r.git#egg=x")
	f.Fuzz(func(t *testing.T, text string) {
		if r, problem := parse(text); problem == "" {
			r.satisfied("1.0")
		}
	})
}
