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

	"github.com/brineproject/brine/internal/signatures"
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

// TestEverythingCalledHasATest requires a test for everything that users can call.
func TestEverythingCalledHasATest(t *testing.T) {
	all, err := sections(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, i := range s.items {
			if i.test == "" {
				t.Errorf("%s: no test names %s", s.title, i.name)
			}
		}
	}
}

// TestPageHasKnownEntries checks that the reference contains known entries.
func TestPageHasKnownEntries(t *testing.T) {
	s, err := read(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ got, want []string }{
		"commands": {s.commands(), []string{"_return", "_serve_file", "ping", "publish",
			"publish_batch", "runner", "wheel"}},
		"runners": {functions(t, s, "runners"),
			[]string{"jobs.list_jobs", "jobs.status", "manage.up", "test.arg"}},
		"wheel": {functions(t, s, "wheel"), []string{"key.accept", "file_roots.read"}},
		"modules": {functions(t, s, "modules"),
			[]string{"cmd.run", "cp.get_file", "test.ping", "grains.set"}},
		"tags": {s.tags(), []string{"salt/auth"}},
	} {
		for _, name := range c.want {
			if !slices.Contains(c.got, name) {
				t.Errorf("%s: no %s among %d", what, name, len(c.got))
			}
		}
	}
}

// TestStatesHaveTheirArguments checks the arguments of known states; a test of the states checks
// all of them.
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
	lines, err := shelfLines(root(t), shelf)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.functions(shelf, lines)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}

// TestFunctionsWithoutALine checks that functions missing in the signatures are reported.
func TestFunctionsWithoutALine(t *testing.T) {
	s, err := read(root(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.functions("wheel", []signatures.Line{{Name: "config.values"}})
	if err == nil || !strings.HasPrefix(err.Error(), "wheel/testdata/signatures.txt has no line of ") {
		t.Errorf("functions gives %v", err)
	}
}

func TestOwnFunctionsAreMarked(t *testing.T) {
	text, err := Page(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| `key.rotate_master` | `days=90` | Brine's own |\n",
		"| `temp.dir` | `suffix='', prefix='tmp', parent=None` | |\n",
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the page has no line %s", line)
		}
	}
}

// TestEventsAreListed compares docs/events.md with the tags that the code makes.
func TestEventsAreListed(t *testing.T) {
	dir := root(t)
	page, err := os.ReadFile(filepath.Join(dir, "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			first, _, _ := strings.Cut(cell, " |")
			for tag := range strings.SplitSeq(first, ", ") {
				listed[tagShape(strings.Trim(tag, "`"))] = true
			}
		}
	}
	s, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	tests := s.tests(dir)
	for _, tag := range s.tags() {
		if !listed[tagShape(tag)] && !begins(listed, tagShape(tag)+"/") {
			t.Errorf("docs/events.md does not list %s", tag)
		}
		if tagTest(tests, tag) == "" {
			t.Errorf("no test names the tag %s", tag)
		}
	}
}

// begins reports whether one of the tags begins with the given text: the code joins some tags from
// parts.
func begins(tags map[string]bool, prefix string) bool {
	for tag := range tags {
		if strings.HasPrefix(tag, prefix) {
			return true
		}
	}
	return false
}

// tagShape replaces the variable parts of a tag by *: JID and ID in a page, <jid> in the code.
func tagShape(tag string) string {
	parts := strings.Split(tag, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "<") || part == strings.ToUpper(part) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// tagTest returns a test that contains the words of a tag.
func tagTest(tests []test, tag string) string {
	var words []string
	for part := range strings.SplitSeq(tag, "/") {
		if part != "salt" && !strings.HasPrefix(part, "<") {
			words = append(words, part)
		}
	}
	for _, t := range tests {
		all := len(words) > 0
		for _, w := range words {
			all = all && t.words[w]
		}
		if all {
			return t.name
		}
	}
	return ""
}
