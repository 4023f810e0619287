package brine

import (
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/pages"
)

// TestGoPages compiles the packages that the pages on modules and states write, as if they lay in the
// tree, and runs their tests.
func TestGoPages(t *testing.T) {
	need.Time(t, "it compiles packages")
	root, dir := sources.Root(t), t.TempDir()
	overlay := map[string]string{}
	add := func(name, text string) {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, name)] = path
	}
	var converges string
	for _, page := range []string{"writing-modules.md", "writing-state-modules.md"} {
		for _, b := range pages.Read(t, filepath.Join(root, "docs", page)) {
			if b.Language != "go" {
				continue
			}
			if strings.Contains(b.Text, ".Converges(") {
				converges = b.Text
			}
			file, ok := goFile(b)
			if !ok {
				continue
			}
			if text, err := format.Source([]byte(b.Text)); err != nil || string(text) != b.Text {
				t.Errorf("%s in %s is not what gofmt writes: %v", file, page, err)
			}
			add(file, b.Text)
		}
	}
	if len(overlay) != 4 || converges == "" {
		t.Fatalf("the pages have %d files, want 4, and a test that converges: %v", len(overlay), converges != "")
	}
	add("states/motd/converges_test.go", "package motd_test\n\nimport (\n\t\"testing\"\n\n\t\""+module+"data\"\n\t\""+module+
		"internal/test/testroot\"\n\t\""+module+"state/change\"\n)\n\nfunc TestConverges(t *testing.T) {\n"+converges+"}\n")
	list, err := os.ReadFile(filepath.Join(root, "states", "all.go"))
	if err != nil {
		t.Fatal(err)
	}
	add("states/all.go", strings.NewReplacer("\t\""+module+"states/mount\"\n", "\t\""+module+"states/motd\"\n\t\""+module+"states/mount\"\n",
		"\t\tmount.Plugin(),\n", "\t\tmotd.Plugin(),\n\t\tmount.Plugin(),\n").Replace(string(list)))
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// Their directories do not exist, so go test cannot run them there.
	for _, shelf := range []string{"modules", "states"} {
		binary := filepath.Join(dir, shelf+".test")
		build := exec.Command("go", "test", "-c", "-vet=off", "-o", binary, "-overlay", file, "./"+shelf+"/motd")
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("compile the tests of %s/motd: %v\n%s", shelf, err, out)
			continue
		}
		run := exec.Command(binary)
		run.Dir = t.TempDir()
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("run the tests of %s/motd: %v\n%s", shelf, err, out)
		}
	}
}

// goFile returns the path of a block that is a Go file.
func goFile(b pages.Block) (string, bool) {
	return b.File, strings.HasSuffix(b.File, ".go")
}
