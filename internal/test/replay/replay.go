// Package replay makes calls of modules that run programs, and compares the executed commands and
// the results with Salt's.
//
// A file is a list of objects: fun is the function, args and kwargs its arguments, grains those of
// the host, answers the programs' output (by command line, each with retcode, stdout and stderr; an
// unknown program returns 127), ran the command lines that Salt ran, with the names of the programs
// without their directories, and value Salt's result, or error the class and text of its exception.
// Values have the form of package vectors.
package replay

import (
	"context"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Options configure how the calls of a file are made.
type Options struct {
	// root directory of the system; replaces the word ROOT in the file
	Root    string
	Plugins []loader.Plugin           // the module, and others that it calls besides cmd
	Skip    func(line []string) bool  // command lines to ignore; nil ignores none
	Before  func(t *testing.T, i int) // called before call number i; may be nil
}

// Check makes the calls of a file, each of them twice.
func Check(t *testing.T, file string, o Options) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode([]byte(strings.ReplaceAll(string(src), "ROOT", o.Root)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		t.Fatalf("%s has no calls", file)
	}
	for i, c := range list {
		for range 2 {
			if o.Before != nil {
				o.Before(t, i)
			}
			check(t, c.(*data.Map), o)
		}
	}
}

func check(t *testing.T, c *data.Map, o Options) {
	t.Helper()
	answers, _ := c.Value("answers").(*data.Map)
	shell := &Shell{Answers: answers, skip: o.Skip}
	grains, _ := c.Value("grains").(*data.Map)
	env := &loader.Env{Root: o.Root, Opts: data.NewMap("cachedir", o.Root),
		Grains: func() *data.Map { return grains }}
	r, err := loader.NewRegistry(env, append([]loader.Plugin{shell.Plugin()}, o.Plugins...))
	if err != nil {
		t.Fatal(err)
	}
	args, _ := c.Value("args").([]any)
	kwargs, _ := c.Value("kwargs").(*data.Map)
	got, err := r.Invoke(t.Context(), c.Text("fun"), args, kwargs)
	if want := c.Text("error"); want != "" || err != nil {
		if text := calls.Text(err); text != want {
			t.Errorf("%s %s gives %s, error %q, want %q", c.Text("fun"), data.Repr(args),
				data.Repr(got), text, want)
		}
	} else if want := c.Value("value"); !data.Equal(got, want) ||
		loader.TypeName(got) != loader.TypeName(want) {
		t.Errorf("%s %s\n got %s\nwant %s", c.Text("fun"), data.Repr(args), data.Repr(got),
			data.Repr(want))
	}
	if !data.Equal(shell.Ran, counted(c.Value("ran"), o.Skip)) {
		t.Errorf("%s %s %s\n ran %s\nwant %s", c.Text("fun"), data.Repr(args), data.Repr(grains),
			data.Repr(shell.Ran), data.Repr(c.Value("ran")))
	}
}

// counted returns the command lines that are not ignored.
func counted(ran any, skip func([]string) bool) any {
	list, _ := ran.([]any)
	kept := []any{}
	for _, line := range list {
		if words := textsOf(line); skip == nil || !skip(words) {
			kept = append(kept, line)
		}
	}
	return kept
}

func textsOf(line any) []string {
	list, _ := line.([]any)
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = data.Str(w)
	}
	return words
}

// A Shell replaces the module cmd: it answers for programs and records the command lines.
type Shell struct {
	Answers *data.Map
	Ran     any
	skip    func([]string) bool
}

type runArgs struct {
	Cmd    any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// Plugin returns the module cmd.
func (s *Shell) Plugin() loader.Plugin {
	s.Ran = []any{}
	return loader.Plugin{Name: "cmd", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("run_all", s.runAll),
			loader.F("run", s.field("stdout")),
			loader.F("run_stdout", s.field("stdout")),
			loader.F("retcode", s.field("retcode")),
			loader.F("which", func(_ context.Context, a runArgs) (any, error) { return process.Find(data.Str(a.Cmd)), nil }),
		}}, nil
	}}
}

func (s *Shell) field(name string) func(context.Context, runArgs) (any, error) {
	return func(ctx context.Context, a runArgs) (any, error) {
		v, err := s.runAll(ctx, a)
		if err != nil {
			return nil, err
		}
		return v.(*data.Map).Value(name), nil
	}
}

func (s *Shell) runAll(_ context.Context, a runArgs) (any, error) {
	words, err := wordsOf(a)
	if err != nil {
		return nil, err
	}
	words[0] = path.Base(words[0])
	if words[0] == "systemd-run" && len(words) > 2 {
		words[2] = path.Base(words[2])
	}
	if s.skip == nil || !s.skip(words) {
		line := make([]any, len(words))
		for i, w := range words {
			line[i] = w
		}
		s.Ran = append(s.Ran.([]any), line)
	}
	if v, ok := s.Answers.Value(strings.Join(words, " ")).(*data.Map); ok {
		return v, nil
	}
	return data.NewMap("retcode", int64(127), "stdout", "", "stderr", "not found"), nil
}

// wordsOf splits a command as cmd does: a line for a shell is one word after sh.
func wordsOf(a runArgs) ([]string, error) {
	if _, ok := a.Cmd.([]any); ok {
		return textsOf(a.Cmd), nil
	}
	if data.Truth(a.Kwargs.Value("python_shell")) {
		return []string{"sh", "-c", data.Str(a.Cmd)}, nil
	}
	return process.Words(data.Str(a.Cmd))
}
