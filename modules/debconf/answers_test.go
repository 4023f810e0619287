//go:build unix

package debconf

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// debconf-set-selections and debconf-get-selections are replaced by scripts that keep the answers
// in a file, in Debian's format: one line for each package and question.
func TestAnswers(t *testing.T) {
	bin := t.TempDir()
	store := filepath.Join(bin, "store")
	for name, script := range map[string]string{
		"debconf-get-selections": "cat " + store + "\n",
		"debconf-set-selections": `[ $# = 0 ] || exec "$0" < "$1"
while read -r owner question type value; do
  grep -v "^$owner	$question	" ` + store + ` > ` + store + `.new
  printf '%s\t%s\t%s\t%s\n' "$owner" "$question" "$type" "$value" >> ` + store + `.new
  mv ` + store + `.new ` + store + `
done
`} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{store: "",
		filepath.Join(bin, "answers"): "ferm ferm/more string\nferm ferm/enable boolean false\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := loader.NewRegistry(&loader.Env{Grains: func() *data.Map { return data.NewMap("os_family", "Debian", "shell", "/bin/sh") }},
		[]loader.Plugin{Plugin(), cmd.Plugin(render.Brought{}),
			{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
				return &loader.Module{Funcs: []loader.Func{loader.F("cache_file",
					func(_ context.Context, a fileArgs) (any, error) { return a.Path, nil })}}, nil
			}}})
	if err != nil {
		t.Fatal(err)
	}
	is := func(want any, fun string, args ...any) {
		t.Helper()
		if got, err := r.Invoke(t.Context(), fun, args, &data.Map{}); err != nil || !data.Equal(got, want) {
			t.Errorf("%s %s: got %s, %v, want %s", fun, data.Repr(args), data.Repr(got), err, data.Repr(want))
		}
	}
	for range 2 {
		is(true, "debconf.set", "ferm", "ferm/enable", "boolean", "true")
		is(true, "debconf.set", "ferm", "ferm/text", "string", "of", "several", "words")
		is(data.NewMap("ferm", []any{[]any{"ferm/enable", "boolean", "true"},
			[]any{"ferm/text", "string", "of several words"}}), "debconf.get_selections")
		is([]any{[]any{"ferm/enable", "boolean", "true"},
			[]any{"ferm/text", "string", "of several words"}}, "debconf.show", "ferm")
		is(nil, "debconf.show", "none")
	}
	for range 2 {
		is(true, "debconf.set_file", filepath.Join(bin, "answers"))
		is([]any{[]any{"ferm/text", "string", "of several words"}, []any{"ferm/more", "string", ""},
			[]any{"ferm/enable", "boolean", "false"}}, "debconf.show", "ferm")
		is(data.NewMap("ferm", []any{[]any{"ferm/text", "string", "of several words"},
			[]any{"ferm/enable", "boolean", "false"}}), "debconf.get_selections", false)
	}
	if _, err := r.Invoke(t.Context(),
		"debconf.set", []any{"ferm", "ferm/enable", "boolean",
			"true\nother other/question string x"}, &data.Map{}); err == nil {
		t.Error("a value of two lines sets another answer")
	}
}
