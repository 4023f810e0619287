package main

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page anew")

func root(t *testing.T) string {
	t.Helper()
	dir, err := moduleRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPageIsCurrent(t *testing.T) {
	dir := root(t)
	want, err := Page(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, page)
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the source says: run `go generate ./internal/reference`", page)
	}
}

// TestEverythingCalledHasATest wants a test for what others can call.
func TestEverythingCalledHasATest(t *testing.T) {
	text, err := Page(root(t))
	if err != nil {
		t.Fatal(err)
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
		}
		if strings.Contains(line, code("")) && section != "Options" {
			t.Errorf("%s: %s", section, strings.TrimSpace(line))
		}
	}
}

// TestPageFindsWhatThereIs holds the reading of the source against things that are known to be there.
func TestPageFindsWhatThereIs(t *testing.T) {
	s, err := read(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ got, want []string }{
		"commands": {s.commands(), []string{"_return", "_serve_file", "ping", "publish", "publish_batch", "runner", "wheel"}},
		"runners":  {functions(t, s, "runners"), []string{"jobs.list_jobs", "jobs.status", "manage.up", "test.arg"}},
		"wheel":    {functions(t, s, "wheel"), []string{"key.accept", "file_roots.read"}},
		"modules":  {functions(t, s, "modules"), []string{"cmd.run", "cp.get_file", "test.ping", "grains.set"}},
		"options":  {s.options(), []string{"interface", "ext_pillar", "gitfs_root"}},
		"tags":     {s.tags(), []string{"salt/auth"}},
	} {
		for _, name := range c.want {
			if !slices.Contains(c.got, name) {
				t.Errorf("%s: no %s among %d", what, name, len(c.got))
			}
		}
	}
	if options := s.options(); slices.Contains(options, "syndic_master") || slices.Contains(options, "worker_threads") {
		t.Error("options without effect are listed")
	}
}

// TestStatesHaveTheirArguments holds the reading of the source against states that are known; a test of states holds all of them.
func TestStatesHaveTheirArguments(t *testing.T) {
	s, err := read(root(t))
	if err != nil {
		t.Fatal(err)
	}
	found := s.stateFunctions()
	for name, want := range map[string]string{
		"alternatives.install": "name, link, path, priority",
		"environ.setenv":       "name, value, false_unsets=False, clear_all=False, update_minion=False, permanent=False",
		"mysql_grants.absent": "name, grant=None, database=None, user=None, host='localhost', " +
			"grant_option=False, escape=True, **connection_args", // of embedded structs
		"http.query": "name, match=None, match_type='string', status=None, status_type='string', wait_for=None, **kwargs",
	} {
		if got := found[name].args; got != want {
			t.Errorf("%s(%s), want %s", name, got, want)
		}
	}
	if f, ok := found["pkg.mod_watch"]; ok {
		t.Errorf("a function of the runner is there: %+v", f)
	}
}

func functions(t *testing.T, s *source, shelf string) []string {
	t.Helper()
	salts, err := signatures(root(t), shelf)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(s.functions(shelf, salts)))
}
