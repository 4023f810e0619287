package jinja

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// TestAsPython compares with the results of Python's jinja2 3.1 in its sandbox, as recorded in the
// corpus.
func TestAsPython(t *testing.T) {
	names, err := filepath.Glob("testdata/corpus*.json")
	if err != nil || len(names) < 2 {
		t.Fatalf("%d files of the corpus, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			c := readCorpus(t, name)
			for _, tc := range c.cases {
				c.check(t, tc)
			}
		})
	}
}

type corpus struct {
	context []byte // decoded anew for each case, because templates change their values
	files   MapLoader
	cases   []*data.Map
}

func readCorpus(t testing.TB, name string) *corpus {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	top := v.(*data.Map)
	c := &corpus{context: contextOf(b), files: filesOf(top.Value("files"))}
	for _, e := range top.Value("cases").([]any) {
		c.cases = append(c.cases, e.(*data.Map))
	}
	return c
}

// contextOf returns the line of the context in a corpus.
func contextOf(b []byte) []byte {
	line, _, _ := strings.Cut(string(b), ",\n")
	return []byte(strings.TrimPrefix(line, `{"context": `))
}

func filesOf(v any) MapLoader {
	files := MapLoader{}
	m, _ := v.(*data.Map)
	for k, text := range m.All() {
		files[k.(string)] = text.(string)
	}
	return files
}

func (c *corpus) check(t *testing.T, tc *data.Map) {
	t.Helper()
	template := tc.Text("t")
	names, err := vectors.Decode(c.context)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Undefined: lenienceOf(t, tc), Syntax: syntaxOf(t, tc.Value("o")),
		Limits: Limits{Steps: 1_000_000}}
	if tc.Has("files") {
		o.Loader = c.files
	}
	got, err := render(t, template, namesOf(names), o)
	if want, ok := tc.Get("text"); ok {
		if err != nil || got != want {
			t.Errorf("%s\noptions %v %s\ngot  %q, %v\nwant %q", template, tc.Text("u"),
				data.Repr(tc.Value("o")), got, err, want)
		}
		return
	}
	checkError(t, tc, got, err)
}

func checkError(t *testing.T, tc *data.Map, got string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%s\ngot  %q, %v\nwant %s %q", tc.Text("t"), got, err, tc.Text("kind"), tc.Text("message"))
		return
	}
	line, _ := tc.Value("line").(int64)
	in := tc.Text("in")
	if in == "" {
		in = "<template>"
	}
	if string(e.Kind) != tc.Text("kind") || e.Message != tc.Text("message") ||
		line != 0 && (e.Line != int(line) || e.Template != in) {
		t.Errorf("%s\ngot  %s %q, %s line %d\nwant %s %q, %s line %d", tc.Text("t"), e.Kind,
			e.Message, e.Template, e.Line, tc.Text("kind"), tc.Text("message"), in, line)
	}
}

func namesOf(v any) map[string]any {
	names := map[string]any{}
	for k, v := range v.(*data.Map).All() {
		names[k.(string)] = v
	}
	return names
}

func lenienceOf(t *testing.T, tc *data.Map) Lenience {
	t.Helper()
	l, ok := map[string]Lenience{"": Strict, "lenient": Lenient, "chainable": Chainable,
		"debug": Debug}[tc.Text("u")]
	if !ok {
		t.Fatalf("undefined %q", tc.Text("u"))
	}
	return l
}

func syntaxOf(t testing.TB, options any) Syntax {
	t.Helper()
	var s Syntax
	texts := map[string]*string{
		"block_start_string": &s.BlockStart, "block_end_string": &s.BlockEnd,
		"variable_start_string": &s.VariableStart, "variable_end_string": &s.VariableEnd,
		"comment_start_string": &s.CommentStart, "comment_end_string": &s.CommentEnd,
		"line_statement_prefix": &s.LineStatementPrefix,
		"line_comment_prefix":   &s.LineCommentPrefix, "newline_sequence": &s.NewlineSequence,
	}
	switches := map[string]*bool{"trim_blocks": &s.TrimBlocks, "lstrip_blocks": &s.LStripBlocks,
		"keep_trailing_newline": &s.KeepTrailingNewline}
	m, _ := options.(*data.Map)
	for key, v := range m.All() {
		k := key.(string)
		switch {
		case texts[k] != nil:
			*texts[k] = v.(string)
		case switches[k] != nil:
			*switches[k] = v.(bool)
		default:
			t.Fatalf("option %q", k)
		}
	}
	return s
}
