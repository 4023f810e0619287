package modules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/signatures"
	"github.com/brineproject/brine/loader"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, Plugins(Brought()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSignaturesMatchSalt(t *testing.T) {
	const file = "testdata/signatures.txt"
	t.Setenv("SHELL", "/bin/bash") // the default of shell= in the file
	lines, err := signatures.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]signatures.Line{}
	_, noClusters := exec.LookPath("pg_createcluster")
	for _, line := range lines {
		if noClusters != nil && strings.HasPrefix(line.Name, "postgres.cluster_") {
			continue // the functions of that program are not there without it
		}
		module, _, _ := strings.Cut(line.Name, ".")
		want[module] = append(want[module], line)
	}
	r := registry(t)
	for _, module := range r.Modules() {
		t.Run(module, func(t *testing.T) {
			if want[module] == nil {
				t.Fatalf("%s has no line of the module; sys.argspec of real Salt returns them, and one "+
					"of your own writes them itself", file)
			}
			var got []signatures.Line
			for _, fun := range r.Select(module) {
				f, _ := r.Func(fun)
				got = append(got, signatures.Of(module+"."+f.Spec().Name, f.Spec()))
			}
			for _, text := range signatures.Differences(file, want[module], got) {
				t.Error(text)
			}
		})
	}
}

func TestEveryFunctionIsDocumented(t *testing.T) {
	r := registry(t)
	for _, fun := range r.Names() {
		f, _ := r.Func(fun)
		if doc := f.Spec().Docstring(); !strings.HasPrefix(doc, "\n") ||
			!strings.HasSuffix(doc, "\n    ") || !strings.Contains(doc, "Example:\n") {
			t.Errorf("%s has no documentation with an example: %q", fun, doc)
		}
	}
}

func TestSmallBuildDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "small", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, dep := range strings.Fields(string(out)) {
		switch dep {
		case "net/http", "text/template", "html/template", "modernc.org/sqlite":
			t.Errorf("the small build reaches %s", dep)
		}
	}
}

// program calls a function by name; it is the program that the test links with the modules.
const program = `package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
)

func main() {
	r, err := loader.NewRegistry(&loader.Env{}, modules.Plugins(modules.Brought()))
	if err != nil || !r.Call(context.Background(), os.Args[1], nil, loader.CallOptions{}).Success {
		os.Exit(1)
	}
}
`

// A function that looks up methods by name makes the linker keep every exported method of the
// program.
// program.
func TestLinkerMayDropMethods(t *testing.T) {
	dir := t.TempDir()
	file, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "build", "-tags", "small", "-ldflags", "-dumpdep", "-o", bin,
		file).CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "loader.NewRegistry") {
		t.Fatal("the linker lists no dependencies")
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "<ReflectMethod>") {
			t.Errorf("methods are looked up by name: %s", line)
		}
	}
	if out, err := exec.Command(bin, "test.ping").CombinedOutput(); err != nil {
		t.Errorf("test.ping in that program: %v %s", err, out)
	}
}

func TestRenderersAreListed(t *testing.T) {
	for range 2 {
		got, err := registry(t).Invoke(t.Context(), "sys.list_renderers", []any{"y*", "jin*"}, nil)
		if want := []any{"jinja", "yaml", "yamlex"}; err != nil || !data.Equal(got, want) {
			t.Errorf("sys.list_renderers returned %s, %v", data.Repr(got), err)
		}
	}
}

func TestAliasesAreDocumented(t *testing.T) {
	versions, _ := registry(t).Func("test.versions")
	if doc := versions.Spec().Docstring(); !strings.HasPrefix(doc,
		"\nThis function is an alias of ``versions_report``.\n\n") {
		t.Errorf("test.versions is documented %q", doc)
	}
}
