package helm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/helm"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/helm"
)

func shelf(t *testing.T) *runs.Shelf {
	return runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
}

// TestRuns replays results of Salt 3006.18 with the program testdata/bin/helm: test mode and a real run.
// Then each state runs again and changes nothing.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	shelf(t).Settle(t, "testdata/runs.json", "", runs.Equal)
}

// In test mode, and when there is nothing to do, helm only looks.
func TestReadsOnly(t *testing.T) {
	dir := runs.Programs(t)
	s := shelf(t)
	repos := data.NewMap("present", []any{data.NewMap("name", "a", "url", "u")})
	chart := data.NewMap("chart", "a/web")
	for _, test := range []bool{true, false, true, false} {
		s.Run(t, test, "helm.repo_managed", "r", repos)
		s.Run(t, test, "helm.release_present", "web", chart)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ran"))
	if err != nil {
		t.Fatal(err)
	}
	var writes []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "repo list") && !strings.HasPrefix(line, "status") &&
			!strings.Contains(line, "--dry-run") {
			writes = append(writes, line)
		}
	}
	if got := strings.Join(writes, ";"); got != "repo add a u;install web a/web" {
		t.Errorf("helm ran %q", got)
	}
}

// A cluster that does not answer fails the states, and its releases do not count as absent.
func TestUnreachable(t *testing.T) {
	runs.Programs(t)
	s := shelf(t)
	for fun, kwargs := range map[string]*data.Map{"helm.release_absent": nil,
		"helm.release_present": data.NewMap("chart", "a/web")} {
		for _, test := range []bool{true, false} {
			got := s.Run(t, test, fun, "lost", kwargs)
			if got.Value("result") != false || got.Text("comment") != "Error: Kubernetes cluster unreachable" {
				t.Errorf("%s: %s", fun, data.Repr(got))
			}
		}
	}
}

// helm.repo_updated acts in each run.
func TestRepoUpdated(t *testing.T) {
	runs.Programs(t)
	s := shelf(t)
	for i, want := range []string{"Helm repo would have been updated.", "Helm repo is updated.",
		"Helm repo is updated."} {
		got := s.Run(t, i == 0, "helm.repo_updated", "r", nil)
		if got.Text("comment") != want || data.Truth(got.Value("changes")) {
			t.Errorf("run %d: %s", i, data.Repr(got))
		}
	}
	t.Setenv("PATH", t.TempDir())
	if got := s.Run(t, false, "helm.repo_updated", "r", nil); got.Value("result") != false {
		t.Errorf("without helm: %s", data.Repr(got))
	}
}
