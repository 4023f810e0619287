package jinja

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

// seeds adds every n-th template of the corpus.
func seeds(f *testing.F, n int) {
	f.Helper()
	for _, name := range []string{"testdata/corpus_statements.json", "testdata/corpus_values.json"} {
		for i, tc := range readCorpus(f, name).cases {
			if i%n == 0 {
				f.Add(tc.Text("t"))
			}
		}
	}
}

// bounded fails the test if do takes too long or too much memory.
func bounded(t *testing.T, src string, bytes uint64, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	do()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > bytes+uint64(len(src))*10_000 {
		t.Errorf("%q takes %d bytes", src, used)
	}
	if took > 10*time.Second {
		t.Errorf("%q takes %v", src, took)
	}
}

func FuzzLexer(f *testing.F) {
	seeds(f, 50)
	f.Fuzz(func(t *testing.T, src string) {
		for _, s := range []Syntax{{},
			{TrimBlocks: true, LStripBlocks: true, LineStatementPrefix: "%",
				LineCommentPrefix: "##"}, {BlockStart: "{", BlockEnd: "}", VariableStart: "$",
				VariableEnd: "$"}} {
			bounded(t, src, 1<<20, func() { lexed(t, src, s) })
		}
	})
}

func lexed(t *testing.T, src string, s Syntax) {
	l := newLexer(src, s.filled())
	for {
		l.more()
		if k := l.tokens[len(l.tokens)-1].kind; k == tokEOF || k == tokError {
			break
		}
	}
	tokens := l.tokens
	line := 1
	for i, tok := range tokens {
		if tok.line < line {
			t.Fatalf("%q: token %d stands on line %d after line %d", src, i, tok.line, line)
		}
		line = tok.line
	}
	if last := tokens[len(tokens)-1].kind; last != tokEOF && last != tokError {
		t.Fatalf("%q ends with %s", src, last)
	}
}

func FuzzParser(f *testing.F) {
	seeds(f, 50)
	f.Fuzz(func(t *testing.T, src string) {
		bounded(t, src, 1<<20, func() {
			_, err := compile(src, cacheKey{name: "x", syntax: Syntax{}.filled()},
				tagOptions().Tags, Limits{}.filled())
			if err == nil {
				return
			}
			if e := asError(err); e.Message == "" || e.Line < 0 || e.Template != "x" && e.Kind != LimitError {
				t.Errorf("%q: error %+v", src, e)
			}
		})
	})
}

func FuzzRender(f *testing.F) {
	seeds(f, 10)
	c := readCorpus(f, "testdata/corpus_statements.json")
	limits := Limits{Depth: 40, Output: 1 << 20, Steps: 100_000, Value: 1 << 20, Memory: 16 << 20,
		Source: 1 << 16, Includes: 100}
	f.Fuzz(func(t *testing.T, src string) {
		for _, u := range []Lenience{Strict, Debug} {
			o := tagOptions()
			o.Limits, o.Undefined, o.Loader = limits, u, c.files
			tpl, err := environment(t, o).Parse("x", src)
			if err != nil {
				continue
			}
			names := map[string]any{"x": 5, "s": "Hello", "lst": []any{3, 1, 2},
				"d": data.NewMap("b", 1, "a", data.NewMap("c", nil)), "f": 2.5}
			bounded(t, src, 512<<20, func() { tpl.Render(context.Background(), names) })
		}
	})
}
