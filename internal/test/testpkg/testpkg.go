// Package testpkg provides a system for tests of package manager modules, whose programs are
// functions of the test.
package testpkg

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/pkgresource"
)

// An Answer is the output of a program.
type Answer struct {
	Code        int64
	Out, Stderr string
}

// A Host is a system with a module pkg.
type Host struct {
	Root  string
	Ran   []string    // command lines, in order
	Words []*data.Map // further arguments of cmd.run_all, one map for each line
	Opts  *data.Map   // options of the minion
	r     *loader.Registry
	t     *testing.T
}

type runArgs struct {
	Cmd    []string
	Kwargs *data.Map `kwargs:"kwargs"`
}

type nameArgs struct {
	Name  any
	Other any `default:"None"`
}

// New returns a system with these grains and modules. program implements its programs.
func New(
	t *testing.T, grains *data.Map, program func(args []string) Answer, modules ...loader.Plugin,
) *Host {
	t.Helper()
	h := &Host{Root: t.TempDir(), Opts: data.NewMap("cachedir", "/cache"), t: t}
	if err := os.Mkdir(filepath.Join(h.Root, "cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(_ context.Context, a runArgs) (any, error) {
		h.Ran, h.Words = append(h.Ran, strings.Join(a.Cmd, " ")), append(h.Words, a.Kwargs)
		answer := program(a.Cmd)
		return data.NewMap("pid", int64(1), "retcode", answer.Code, "stdout", answer.Out,
			"stderr", answer.Stderr), nil
	}
	fixed := []loader.Plugin{
		plugin("cmd", loader.F("run_all", run)),
		plugin("config", loader.F("valid_fileproto",
			func(_ context.Context, a nameArgs) (any, error) {
				return strings.Contains(data.Str(a.Name), "://"), nil
			}),
			loader.F("get", func(_ context.Context, a nameArgs) (any, error) { return a.Other, nil })),
		pkgresource.Plugin(),
	}
	var err error
	if h.r, err = loader.NewRegistry(&loader.Env{Root: h.Root, Opts: h.Opts,
		Grains: func() *data.Map { return grains }}, append(fixed, modules...)); err != nil {
		t.Fatal(err)
	}
	return h
}

func plugin(name string, funcs ...loader.Func) loader.Plugin {
	return loader.Plugin{Name: name,
		New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: funcs}, nil }}
}

// Call calls a function of pkg; words are keywords and values.
func (h *Host) Call(fun string, args []any, words ...any) (any, error) {
	return h.r.Invoke(h.t.Context(), "pkg."+fun, args, data.NewMap(words...))
}

// Is calls a function of pkg and compares its result, or the class and text of its error.
func (h *Host) Is(want any, fun string, args []any, words ...any) {
	h.t.Helper()
	got, err := h.Call(fun, args, words...)
	if err != nil {
		got = calls.Text(err)
	}
	if !data.Equal(got, want) {
		h.t.Errorf("%s %s %s gives\n%s\nwant\n%s", fun, data.Repr(args), data.Repr(words),
			data.Repr(got), data.Repr(want))
	}
}

// Last compares the last command line.
func (h *Host) Last(want string) {
	h.t.Helper()
	if len(h.Ran) == 0 || h.Ran[len(h.Ran)-1] != want {
		h.t.Errorf("the last of %q is not %q", h.Ran, want)
	}
}

// RanOne fails the test unless the command line was run since the last call, and clears the list.
func (h *Host) RanOne(want string) {
	h.t.Helper()
	for _, line := range h.Ran {
		if line == want {
			h.Ran = nil
			return
		}
	}
	h.t.Errorf("none of %q is %q", h.Ran, want)
	h.Ran = nil
}

// Has reports whether pkg has a function.
func (h *Host) Has(fun string) bool { return h.r.Has("pkg." + fun) }

// Changes builds changes from triples of name, old and new version.
func Changes(triples ...string) *data.Map {
	m := &data.Map{}
	for i := 0; i+2 < len(triples); i += 3 {
		m.Set(triples[i], data.NewMap("old", triples[i+1], "new", triples[i+2]))
	}
	return m
}
