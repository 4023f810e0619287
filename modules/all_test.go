package modules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// signatures returns the lines of testdata/signatures.txt by module.
func signatures(t *testing.T) map[string][]string {
	t.Helper()
	src, err := os.ReadFile("testdata/signatures.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string][]string{}
	for line := range strings.Lines(string(src)) {
		if module, _, ok := strings.Cut(line, "."); ok && !strings.HasPrefix(line, "#") {
			lines[module] = append(lines[module], strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, Plugins(Brought()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSignaturesAreSalts(t *testing.T) {
	t.Setenv("SHELL", "/bin/bash") // the default of shell= in testdata/signatures.txt
	r, want := registry(t), signatures(t)
	for _, module := range r.Modules() {
		t.Run(module, func(t *testing.T) {
			if want[module] == nil {
				t.Fatal("testdata/signatures.txt has no line of the module; sys.argspec of real Salt gives them")
			}
			got := map[string]bool{}
			for _, fun := range r.Select(module) {
				f, _ := r.Func(fun)
				got[module+"."+signature(f.Spec())] = true
			}
			for _, line := range want[module] {
				if !got[line] {
					t.Errorf("there is no %s", line)
				}
				delete(got, line)
			}
			for line := range got {
				t.Errorf("Salt has no %s", line)
			}
		})
	}
}

func signature(s *loader.Spec) string {
	var parts []string
	for _, p := range s.Params {
		if p.Required {
			parts = append(parts, p.Name)
		} else {
			parts = append(parts, p.Name+"="+data.Repr(p.Default))
		}
	}
	if s.Args != "" {
		parts = append(parts, "*")
	}
	if s.Kwargs != "" {
		parts = append(parts, "**")
	}
	return s.Name + "(" + strings.Join(parts, ", ") + ")"
}

func TestEveryFunctionIsDocumented(t *testing.T) {
	r := registry(t)
	for _, fun := range r.Names() {
		f, _ := r.Func(fun)
		if doc := f.Spec().Docstring(); !strings.HasPrefix(doc, "\n") || !strings.HasSuffix(doc, "\n    ") || !strings.Contains(doc, "Example:\n") {
			t.Errorf("%s has no documentation with an example: %q", fun, doc)
		}
	}
}

func TestModulesOfASmallBuildStayLean(t *testing.T) {
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

// program calls a function by name; it is what the linker sees of the modules.
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

// A function that looks methods up by name makes the linker keep every exported method of the program.
func TestLinkerMayDropMethods(t *testing.T) {
	dir := t.TempDir()
	file, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "build", "-tags", "small", "-ldflags", "-dumpdep", "-o", bin, file).CombinedOutput()
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
			t.Errorf("sys.list_renderers gives %s, %v", data.Repr(got), err)
		}
	}
}

func TestAliasesAreDocumented(t *testing.T) {
	versions, _ := registry(t).Func("test.versions")
	if doc := versions.Spec().Docstring(); !strings.HasPrefix(doc, "\nThis function is an alias of ``versions_report``.\n\n") {
		t.Errorf("test.versions is documented %q", doc)
	}
}
