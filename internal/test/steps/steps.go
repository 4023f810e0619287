// Package steps runs states in sequence and compares each result with Salt's, for tests of states.
//
// A file is a list of cases: name; prep, a shell script that runs first in an empty directory;
// files, texts by their paths there; and steps. A step is a state (fun, args, which may hold test:
// true, and Salt's result: result, changes, comment and, if there are any, warnings), or a shell
// script and its combined output. In texts @ stands for the directory.
package steps

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A Run configures how a case is run.
type Run struct {
	// States returns the states of a host whose files are in a directory.
	States func(t *testing.T, dir string) *loader.Registry
	// Mend corrects Salt's comment if that is a mistake; nil if there is none.
	Mend func(comment string) string
	// Names holds pairs of words in the file and their replacements.
	Names []string
}

// Check runs the cases of a file, each in a directory of its own.
func (r Run) Check(t *testing.T, file string) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode([]byte(strings.NewReplacer(r.Names...).Replace(string(src))))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	for _, c := range vectors.Cases(t, list) {
		t.Run(c.Name, func(t *testing.T) { r.check(t, c.On(t)) })
	}
}

func (r Run) check(t *testing.T, c *vectors.Case) {
	c.Only("name", "prep", "files", "steps")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if c.Has("files") {
		write(t, dir, c.Object("files"))
	}
	if c.Has("prep") {
		script(t, dir, c.Text("prep"))
	}
	h := &host{dir, r.States(t, dir), r.Mend}
	for _, s := range c.Sub("steps") {
		h.step(t, s)
	}
}

func write(t *testing.T, dir string, files *data.Map) {
	t.Helper()
	for name, text := range files.All() {
		at := filepath.Join(dir, data.Str(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(strings.ReplaceAll(data.Str(text), "@", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// script runs a script and returns its output.
func script(t *testing.T, dir, text string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(text, "@/", dir+"/"))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended { //nolint:errorlint // it is the error of Run itself
		t.Fatalf("%s: %v", text, err)
	}
	return strings.ReplaceAll(string(out), dir, "@")
}

type host struct {
	dir    string
	states *loader.Registry
	mend   func(string) string
}

func (h *host) step(t *testing.T, s *vectors.Case) {
	if s.Has("sh") {
		s.Only("sh", "out")
		if got, want := script(t, h.dir, s.Text("sh")), s.Text("out"); got != want {
			t.Errorf("%s: %s\n got %s\nwant %s", s.Name, s.Text("sh"), got, want)
		}
		return
	}
	s.Only("fun", "args", "result", "changes", "comment", "warnings")
	comment := s.Text("comment")
	if h.mend != nil {
		comment = h.mend(comment)
	}
	args := h.placed(s.Object("args")).(*data.Map)
	got, want := h.run(t, s.Text("fun"), args), data.NewMap("result", s.Value("result"),
		"changes", s.Value("changes"), "comment", comment)
	if s.Has("warnings") {
		want.Set("warnings", s.Value("warnings"))
	}
	if said, wanted := h.said(got), h.said(want); said != wanted {
		t.Errorf("%s: %s %s\n got %s\nwant %s", s.Name, s.Text("fun"), data.Repr(args),
			said, wanted)
	}
}

// placed inserts the directory into arguments.
func (h *host) placed(v any) any {
	switch v := v.(type) {
	case string:
		return regexp.MustCompile(`@(/|$)`).ReplaceAllString(v, h.dir+"$1")
	case []any:
		out := []any{}
		for _, one := range v {
			out = append(out, h.placed(one))
		}
		return out
	case *data.Map:
		out := data.NewMap()
		for k, one := range v.All() {
			out.Set(h.placed(k), h.placed(one))
		}
		return out
	}
	return v
}

func (h *host) run(t *testing.T, fun string, args *data.Map) *data.Map {
	t.Helper()
	module, _, _ := strings.Cut(fun, ".")
	test := args.Value("test") == true
	args.Delete("test")
	low := args.Clone()
	low.Update(data.NewMap("state", module, "__id__", args.Value("name"), "__sls__", "s",
		"__env__", "base"))
	call := &change.Call{Test: test, Low: low, SaltEnv: "base", Run: "r",
		Ran: func(string) *data.Map { return nil }, Chunks: func() []*data.Map { return nil }}
	ctx := loader.WithContext(change.WithCall(context.Background(), call), &loader.Context{})
	v, err := h.states.Invoke(ctx, fun, nil, args)
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("%s %s: %s, %v", fun, data.Repr(args), data.Repr(v), err)
	}
	return ret
}

// said returns a result as one text, with the directory as @.
func (h *host) said(ret *data.Map) string {
	lines := data.Repr(ret.Value("result")) + " " + data.Repr(ret.Value("changes")) + "\n" +
		ret.Text("comment")
	if ret.Has("warnings") {
		lines += "\n" + data.Repr(ret.Value("warnings"))
	}
	return strings.ReplaceAll(lines, h.dir, "@")
}
