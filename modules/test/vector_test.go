package test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/version"
)

// registry returns a minion's modules: test itself and small modules that it calls.
func registry(t *testing.T) *loader.Registry {
	t.Helper()
	one := func(name, file, fun string, value any) loader.Plugin {
		return loader.Plugin{Name: name, File: file, New: func(*loader.Env) (*loader.Module, error) {
			f := loader.F(fun, func(_ context.Context, _ struct {
				Args []any `args:"args"`
			}) (any, error) {
				return value, nil
			})
			return &loader.Module{Funcs: []loader.Func{f}}, nil
		}}
	}
	no := loader.Plugin{Name: "acme",
		New: func(*loader.Env) (*loader.Module, error) { return nil, errors.New("no") }}
	env := &loader.Env{
		Opts:   data.NewMap("id", "web1", "hash_type", "sha256"),
		Grains: func() *data.Map { return data.NewMap("os", "Debian") },
	}
	r, err := loader.NewRegistry(env, []loader.Plugin{
		Plugin(), no, one("config", "", "option", "unconfigured"), one("pkg", "aptpkg",
			"install", nil), one("grains", "", "items", "facts"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVectorFunctions(t *testing.T) {
	f := vectors.Load(t, "10-cli.json")
	vectors.Later(t, f, []string{"functions"}, map[string]string{
		"outputters_one": "output", "outputters_all": "output", "colour": "output",
		"cmd": "modules/cmd", "modules": "modules/sys and others",
		"cli_options": "cli", "offline": "client", "salt_call": "cli", "salt_run": "runners",
		"batch": "client", "token": "client",
	})
	for _, c := range f.Section("functions") {
		var argv []string
		for _, a := range c.List("argv") {
			argv = append(argv, a.(string))
		}
		t.Run(strings.Join(argv[1:], " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkFunction(t, c.On(t), argv[1], argv[2:]) })
		})
	}
}

func checkFunction(t *testing.T, c *vectors.Case, fun string, argv []string) {
	c.Only("program", "argv", "exit_code", "stdout", "stderr", "volatile", "seq", "python_traceback")
	asKey := len(argv) > 0 && argv[0] == "--out=key"
	if asKey {
		argv = argv[1:]
	}
	arg := loader.WireArgs(argv)
	pub := data.NewMap("fun", fun, "arg", arg, "tgt", "web1", "jid", "20261121075343076200", "ret",
		"", "tgt_type", "glob", "user", "root")
	res := registry(t).Call(t.Context(), fun, arg, loader.CallOptions{Pub: pub})
	switch {
	case asKey: // the outputter fails with this result; package output tests that
		if m, ok := res.Value.(*data.Map); !ok || m.Text("id") != "web1" || !res.Success {
			t.Errorf("%s gives %+v, want the options", fun, res)
		}
		return
	case fun == "test.not_loaded": // the golden list has the plug-ins of Salt
		if data.Repr(res.Value) != "['acme']" {
			t.Errorf("%s gives %v, want the one that says no", fun, res.Value)
		}
		return
	}
	if (c.Int("exit_code") == 0) != res.Success {
		t.Errorf("%s %q: success is %v, golden exit code is %d", fun, argv, res.Success, c.Int("exit_code"))
	}
	text, err := output.Printout(output.Choice{Asked: res.Out, Fun: fun},
		data.NewMap("web1", res.Value), output.Options{Indent: output.NoIndent{}, Retcode: res.Retcode})
	if err != nil {
		t.Fatal(err)
	}
	got, want := essence(c, text), essence(c, c.Text("stdout"))
	switch fun { // the golden texts are from 3006.0; 3006.18 keeps __kwarg__ in __pub_arg
	case "test.version":
		want = strings.ReplaceAll(want, "3006.0", version.Salt())
	case "test.arg":
		indent := strings.Repeat(" ", 14)
		want = strings.Replace(want, "----------\n"+indent+"k:", "----------\n"+indent+
			"__kwarg__:\n"+indent+"    True\n"+indent+"k:", 1)
	case "test.arg_repr":
		want = strings.Replace(want, "{'k': 3}]", "{'__kwarg__': True, 'k': 3}]", 1)
	}
	if got != want {
		t.Errorf("%s %q prints\n%s\nwant\n%s", fun, argv, got, want)
	}
}

var (
	jid     = regexp.MustCompile(`\b\d{20}\b`)
	seconds = regexp.MustCompile(`- \d+(\.\d+)?(e-\d+)?$`)
	heading = regexp.MustCompile(`(?m)^    \S+:$`)
)

// essence reduces printed output to the parts that must match. Our documentation differs, only the
// ends of tracebacks match, and IDs and times vary.
func essence(c *vectors.Case, s string) string {
	s = strings.TrimRight(s, " \n")
	lines := strings.Split(s, "\n")
	switch {
	case c.Has("python_traceback"):
		return lines[1] + "…" + lines[len(lines)-1]
	case strings.Contains(s, "Passed invalid arguments"):
		return lines[1]
	case strings.Contains(s, "'test' is not available."):
		return strings.Join(heading.FindAllString(s, -1), "\n")
	}
	return seconds.ReplaceAllString(jid.ReplaceAllString(s, "JID"), "- SECONDS")
}
