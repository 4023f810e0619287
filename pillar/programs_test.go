package pillar_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// program writes a shell script with a name into a directory that becomes the PATH's first.
func program(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return path
}

// external compiles one external pillar for web1, and returns the pillar and the log.
func external(t *testing.T, name string, argument any, grains *data.Map) (*data.Map, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	opts := options(data.NewMap("base", []any{t.TempDir()}), data.NewMap("ext_pillar", []any{data.NewMap(name, argument)}))
	c := compiler(t, pillar.Options{Opts: opts, Engine: withCommands, Sources: pillar.Sources(), Log: log})
	got := compile(t, c, pillar.Request{ID: "web1", Grains: grains})
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, text
}

func TestPuppet(t *testing.T) {
	path := program(t, "enc", `echo "parameters: {id: $2, word: $1}"`)
	got, _ := external(t, "puppet", path+" 'a b'", baseGrains())
	same(t, got, "{id: web1, word: a b}")
	path = program(t, "enc2", `echo "hunter2: {"`)
	got, log := external(t, "puppet", path, baseGrains())
	if got.Len() != 0 || !strings.Contains(log, "failed to parse") || strings.Contains(log, "hunter2") {
		t.Errorf("%s, log %s", data.Repr(got), log)
	}
}

func TestHiera(t *testing.T) {
	program(t, "hiera", `for w in "$@"; do printf -- "- '%s'\n" "$(printf %s "$w" | sed "s/'/''/g")"; done | sed 's/^/  /' > "$0.out"
echo words:; cat "$0.out"`)
	got, log := external(t, "hiera", "/etc/hiera.yaml common", data.NewMap("os", "De'b ian", "n", int64(1), "-x", "y"))
	same(t, got, `words: [-c, /etc/hiera.yaml, common, "os=De'b ian"]`)
	if strings.Contains(log, "hiera") {
		t.Error(log)
	}
}

// TestProgramsAreLimitedInTime runs one that does not end by itself.
func TestProgramsAreLimitedInTime(t *testing.T) {
	engine, err := withCommands(pillar.Scope{Opts: data.NewMap(), Grains: baseGrains()})
	if err != nil {
		t.Fatal(err)
	}
	log, told := logtest.NewNullLogger()
	q := pillar.Query{ID: "web1", Log: log, Engine: engine}
	path := program(t, "enc", "echo a: hunter2; exec sleep 1000")
	v, ok := pillar.PrintedWithin(10*time.Millisecond, q, []string{path})
	if ok || len(told.AllEntries()) != 1 || strings.Contains(told.LastEntry().Message, "hunter2") {
		t.Errorf("%v, log %v", v, told.AllEntries())
	}
	if v, ok := pillar.PrintedWithin(time.Minute, q, []string{program(t, "enc", "echo a: b")}); !ok ||
		data.Repr(v) != "{'a': 'b'}" {
		t.Errorf("%v", v)
	}
}

func TestExtraMinionData(t *testing.T) {
	extra := data.NewMap("a", data.NewMap("b", int64(1), "c", int64(2)), "d", "x")
	for want, include := range map[string]any{
		"{'a': {'b': 1}, 'd': 'x'}":         []any{"a:b", "d", "gone", "a:gone:x", "d:x"},
		"{'a': {'b': 1, 'c': 2}, 'd': 'x'}": "<all>",
	} {
		got, err := pillar.ExtraMinionData{}.Pillar(t.Context(), pillar.Query{ExtraMinionData: extra,
			Argument: data.NewMap("include", include)})
		if err != nil || data.Repr(got) != want {
			t.Errorf("%v: %s, %v", include, data.Repr(got), err)
		}
	}
	if err := (pillar.ExtraMinionData{}).Check("a", nil); err == nil {
		t.Error("a text was accepted")
	}
}
