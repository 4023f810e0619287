package saltcall

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
)

// slsDifferences are the calls of testdata/vectors/python-sls whose answers differ on purpose, by
// the words that name them, with the reason.
var slsDifferences = map[string]string{
	"pyobjects: state.show_sls mod":         "the repr() of an imported file works",
	"pyobjects: state.show_sls saltmissing": "the error names the function that is missing",
}

// TestVectorPythonSLS replays what Salt 3006.18 answers for SLS files and templates in Python:
// pyobjects, pydsl and mako. Groups of mako need a python3 that has it.
func TestVectorPythonSLS(t *testing.T) {
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	files, err := filepath.Glob(filepath.Join(vectors.Dir(), "python-sls", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d groups, %v", len(files), err)
	}
	seen := []string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "mako") {
				needMako(t)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g pluginGroup
			if err := json.Unmarshal(text, &g); err != nil {
				t.Fatal(err)
			}
			r := newPluginRoot(t, g)
			for _, args := range g.Setup {
				r.run(t, args)
			}
			for _, c := range g.Calls {
				words := name + ": " + strings.Join(c.Args, " ")
				if _, ok := slsDifferences[words]; ok {
					seen = append(seen, words)
					continue
				}
				r.check(t, c)
			}
		})
	}
	for words := range slsDifferences {
		if !t.Failed() && !slices.Contains(seen, words) && !strings.HasPrefix(words, "mako") {
			t.Errorf("there is no call %s", words)
		}
	}
}

// needMako makes python3 one that has Mako.
func needMako(t *testing.T) {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-I", "-c", "import mako").Run() == nil {
			if dir := filepath.Dir(python); dir != "." {
				t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
			}
			return
		}
	}
	need.Missing(t, "no python3 has Mako (Debian: python3-mako)")
}
