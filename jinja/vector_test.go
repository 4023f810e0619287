package jinja

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// saltOnly matches cases of the vectors that need Salt's additions to Jinja; package render runs
// them. Those that look like plain Jinja need Salt's tests list and match, its filters flatten,
// unique and tojson, or its way of printing groups.
var saltOnly = regexp.MustCompile(`^(test-0[45]|filt-(08|09|13|22)|fil2-0[24]|import-[67]|import-bad-yaml` +
	`|salt-(0[1-9]|1\d|2[0-46-9]|3\d|4[01])|salt2-(0\d|1[01]))$`)

// TestVectorJinja compares with Salt for the cases that only need Jinja.
func TestVectorJinja(t *testing.T) {
	f := vectors.Load(t, "states/jinja.json")
	pure := 0
	for _, c := range vectors.Cases(t, f.List) {
		if saltOnly.MatchString(c.Text("id")) {
			continue
		}
		pure++
		t.Run(c.Text("id"), func(t *testing.T) { checkVector(t, c.On(t)) })
	}
	if pure < 200 {
		t.Errorf("%d cases, want 200 or more", pure)
	}
}

func checkVector(t *testing.T, c *vectors.Case) {
	c.Only("id", "template", "files", "context", "opts", "expect")
	o := Options{Undefined: Strict, Loader: filesOf(c.Map.Value("files")),
		Syntax: syntaxOf(t, c.Map.Value("opts"))}
	src := c.Text("template")
	got, err := renderGlobals(t, src, vectorContext(t), o)
	want := c.Object("expect")
	if text, ok := want.Get("text"); ok {
		if strings.HasSuffix(src, "\n") && err == nil {
			got += "\n" // Salt's renderer adds it, not Jinja
		}
		if err != nil || got != text {
			t.Errorf("%s\ngot  %q, %v\nwant %q", src, got, err, text)
		}
		return
	}
	checkVectorError(t, got, err, want)
}

var saltMessage = regexp.MustCompile(`(?s)^(Jinja variable |Jinja syntax error: |Jinja error: )?(.*?)(\n@TRACEBACK@\n)?(?:; line (\d+)\n\n---|\n@CACHE@/(.*)\((\d+)\):\n---)`)

func checkVectorError(t *testing.T, got string, err error, want *data.Map) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %q, %v, want %s", got, err, want.Text("message"))
	}
	m := saltMessage.FindStringSubmatch(want.Text("message"))
	if m == nil { // a bug in Salt: it looks for the line of an error that has none
		if e.Kind != PythonSyntaxError {
			t.Errorf("got %s %q, want %s", e.Kind, e.Message, want.Text("message"))
		}
		return
	}
	line, _ := strconv.Atoi(m[4] + m[6])
	if e.Message != m[2] || e.Line != line || m[1] != prefixOf(e.Kind) || m[5] != "" && e.Template != m[5] {
		t.Errorf("got  %s%q, %s line %d\nwant %s%q, %s line %d", prefixOf(e.Kind), e.Message,
			e.Template, e.Line, m[1], m[2], m[5], line)
	}
	if e.Source == "" && e.Line > 0 {
		t.Error("the error has no source for an excerpt")
	}
}

// prefixOf returns Salt's prefix for the message of a kind of error.
func prefixOf(k Kind) string {
	switch k {
	case UndefinedError:
		return "Jinja variable "
	case SyntaxError, AssertionError, SecurityError, RuntimeError:
		return "Jinja syntax error: "
	}
	return "Jinja error: "
}

func renderGlobals(t *testing.T, src string, names map[string]any, o Options) (string, error) {
	t.Helper()
	env, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := env.Parse("<template>", src)
	if err != nil {
		return "", err
	}
	return tpl.RenderWith(t.Context(), nil, names)
}

// vectorContext returns the variables of every case, as in the README of the vectors.
func vectorContext(t *testing.T) map[string]any {
	t.Helper()
	v, err := vectors.Decode([]byte(`{
		"x": 5, "s": "Hello World", "lst": [3, 1, 2], "d": {"b": 1, "a": 2}, "nested": {"x": {"y": [1, {"z": "deep"}]}},
		"tree": [{"n": "a", "c": [{"n": "b", "c": []}, {"n": "c", "c": [{"n": "d", "c": []}]}]}, {"n": "e", "c": []}],
		"grains": {"os": "Debian", "os_family": "Debian", "roles": ["web", "cache"], "id": "web1"},
		"pillar": {"app": {"port": 8080, "hosts": ["a", "b"]}}, "saltenv": "base", "opts": {"id": "web1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	return namesOf(v)
}
