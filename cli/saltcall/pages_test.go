package saltcall

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/pages"
	"github.com/brineproject/brine/loader"
)

// A trial is a directory in which the examples of a page are tried out.
type trial struct {
	dir  string
	conf string
}

// newTrial writes the files of a page: each block of code behind the path of its file.
func newTrial(t *testing.T, page string) (trial, []pages.Block) {
	t.Helper()
	r := trial{t.TempDir(), t.TempDir()}
	blocks := pages.Read(t, filepath.Join(sources.Root(t), "docs", page))
	for _, b := range blocks {
		if b.File == "" {
			continue
		}
		path := filepath.Join(r.dir, b.File)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.Text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	minion := "id: web1\nroot_dir: " + r.conf + "\ncolor: false\nenable_fqdns_grains: false\nenable_gpu_grains: false\n"
	if err := os.WriteFile(filepath.Join(r.conf, "minion"), []byte(minion), 0o600); err != nil {
		t.Fatal(err)
	}
	return r, blocks
}

// try runs the commands of a page and compares what they print with the page.
func (r trial) try(t *testing.T, blocks []pages.Block) (ran int) {
	t.Helper()
	for _, b := range blocks {
		if b.Language != "console" {
			continue
		}
		for _, c := range b.Commands() {
			program, _, _ := strings.Cut(c.Line, " ")
			if slices.Contains([]string{"salt", "salt-run", "mkdir", "cd", "cp"}, program) {
				continue // they need a master, or have been done
			}
			line := strings.ReplaceAll(c.Line, "/tmp/try", r.dir)
			got := strings.ReplaceAll(r.run(t, line), r.dir, "/tmp/try")
			if !matches(got, c.Output) {
				t.Errorf("%s prints\n%s\nthe page says\n%s", c.Line, got, c.Output)
			}
			ran++
		}
	}
	return ran
}

// matches compares an output with that of a page, where … stands for anything.
func matches(got, want string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", "(?s:.*)")
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(strings.TrimSpace(got))
}

// run runs a command in the directory and returns what it prints.
func (r trial) run(t *testing.T, line string) string {
	t.Helper()
	rest, ours := strings.CutPrefix(line, "salt-call ")
	if !ours {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = r.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		return string(out)
	}
	words, err := exec.Command("sh", "-c", `printf '%s\n' `+rest).Output()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := append([]string{"-c", r.conf}, strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")...)
	Run(t.Context(), cli.Invocation{Args: args, Dir: r.dir, Env: os.Getenv}, &out, &out)
	return out.String()
}

// TestExtendingPage tries out the examples of docs/extending.md.
func TestExtendingPage(t *testing.T) {
	need.Time(t, "it starts Python for each command")
	need.Program(t, "python3")
	r, blocks := newTrial(t, "extending.md")
	if n := r.try(t, blocks); n < 10 {
		t.Errorf("the page has %d commands only", n)
	}
	log := logrus.New()
	log.SetOutput(t.Output())
	own := code.New(code.Options{Log: log,
		Opts: data.NewMap("cachedir", t.TempDir(), "runner_dirs", []any{filepath.Join(r.dir, "_runners")}, "__role", "master")})
	defer own.Close()
	runners, err := loader.NewRegistry(&loader.Env{Log: log}, nil)
	if err != nil {
		t.Fatal(err)
	}
	runners.Extend(own.Source("runners", runners.Env(), nil))
	got, err := runners.Invoke(context.Background(), "fleet.host", []any{"web", int64(7)}, nil)
	if err != nil || got != "web-07.example.org" {
		t.Errorf("the runner returns %v, %v", got, err)
	}
}

// TestProgramsPage tries out the examples of docs/programs-as-modules.md.
func TestProgramsPage(t *testing.T) {
	need.Time(t, "it builds a program")
	need.Program(t, "jq", "go")
	r, blocks := newTrial(t, "programs-as-modules.md")
	if n := r.try(t, blocks); n < 10 {
		t.Errorf("the page has %d commands only", n)
	}
}
