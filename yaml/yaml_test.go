package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

func TestErrorsOfThisPackageBeyondTheVectors(t *testing.T) {
	const name = `  in "top.sls", `
	for _, tt := range []struct{ name, src, want string }{
		{"no colon after a key", "a: 1\nb\n  c: 2\n",
			"while scanning a simple key\n" + name +
				"line 2, column 1\ncould not find expected ':'\n" + name + "line 3, column 4"},
		{"no colon after the first key", "a\n  b: 2\n",
			"mapping values are not allowed in this context\n" + name + "line 2, column 4"},
		{"a key at the end", "a: 1\nb", "while scanning a simple key\n" + name + "line 2, column 1\n" +
			"could not find expected ':'\n" + name + "line 2, column 2"},
		{"a tag of other characters", "!`", "while scanning a tag\n" + name + "line 1, column 1\n" +
			"did not find expected whitespace or line break\n" + name + "line 1, column 2"},
		{"not a bool", "a: !!bool maybe\n", "cannot read 'maybe' as bool\n" + name + "line 1, column 4"},
		{"not an int", "a: !!int x\n", "cannot read 'x' as int\n" + name + "line 1, column 4"},
		{"no int at all", "a: !!int ''\n", "cannot read '' as int\n" + name + "line 1, column 4"},
		{"not UTF-8", "a: \xff\n", "invalid UTF-8: byte 0xff\n" + name + "position 3"},
		{"merge of a list of texts", "a: {<<: [x]}\n", "while constructing a mapping\n" + name +
			"line 1, column 4\n" +
			"expected a mapping for merging, but found scalar\n" + name + "line 1, column 10"},
		{"list of a mapping's tag", "a: !!map [b]\n",
			"expected a mapping node, but found sequence\n" + name + "line 1, column 4"},
		{"mapping of a list's tag", "a: !!seq {b: c}\n",
			"expected a sequence node, but found mapping\n" + name + "line 1, column 4"},
		{"list of a text's tag", "a: !!str [b]\n", "expected a scalar node, but found sequence\n" +
			name + "line 1, column 4"},
		{"ordered map of a text", "!!omap [a]\n", "while constructing an ordered map\n" + name +
			"line 1, column 1\n" +
			"expected a mapping of length 1, but found scalar\n" + name + "line 1, column 9"},
		{"ordered map of two", "!!omap [{a: 1, b: 2}]\n", "while constructing an ordered map\n" +
			name + "line 1, column 1\n" +
			"expected a single mapping item, but found 2 items\n" + name + "line 1, column 9"},
		{"anchor with a dot", "a: &x.y 1\n", "while scanning an anchor\n" + name + "line 1, column 4\n" +
			"did not find expected alphabetic or numeric character\n" + name + "line 1, column 6"},
		{"hex escape", "a: \"\\x4\"\n", "while parsing a quoted scalar\n" + name + "line 1, column 4\n" +
			"did not find expected hexdecimal number\n" + name + "line 1, column 7"},
		{"an anchor that holds itself", "a: &x [*x]\n", "found unconstructable recursive node\n" +
			name + "line 1, column 4"},
		{"the first of two faults by level", "a:\n  x: 1\n  x: 2\nb: 1\nb: 2\n",
			"while constructing a mapping\n" + name +
				"line 1, column 1\nfound conflicting ID 'b'\n" + name + "line 5, column 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Load([]byte(tt.src), Options{Name: "top.sls"})
			if err == nil || err.Error() != tt.want {
				t.Errorf("Load(%q) = %v, %v\nwant %q", tt.src, v, err, tt.want)
			}
			var e *Error
			if !errors.As(err, &e) || e.Line() == 0 {
				t.Errorf("%#v names no line", err)
			}
		})
	}
}

func TestValuesBeyondTheVectors(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{`"a\/b"`, "'a/b'"},
		{`['a\/b', "\\/", c\/d, "x\/"]`, `['a\\/b', '\\/', 'c\\/d', 'x/']`},
		{"[a,# c\n b]", "['a', 'b']"},
		{"! 5", "5"},
		{"!", "''"},
		{"a: &x {b: 1}\nc: [*x, *x]", "{'a': {'b': 1}, 'c': [{'b': 1}, {'b': 1}]}"},
		{"a: {<<: {b: 1, c: 2}, c: 3}", "{'a': {'b': 1, 'c': 3}}"},
		{"a: {=: 1}", "{'a': {'=': 1}}"},
		{"!!set {b, a, b}", "['b', 'a']"},
		{"a: !!timestamp 2020-01-01", "{'a': '2020-01-01'}"},
		{"a: !!float 1:30", "{'a': 90.0}"},
		{"[1_0.5_0, 0x_f, +.inf, -1:30.5]", "[10.5, 15, inf, -90.5]"},
		{"%YAML 1.2\n---\nyes", "True"},
		{"a: !!python/unicode x", "{'a': 'x'}"},
		{"{1: a, 1.5: b, ~: c, yes: d}", ""}, // 1 and yes are one key
	} {
		v, err := Load([]byte(tt.src), Options{})
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), "found conflicting ID 'True'") {
				t.Errorf("Load(%q) = %v, %v", tt.src, data.Repr(v), err)
			}
			continue
		}
		if err != nil || data.Repr(v) != tt.want {
			t.Errorf("Load(%q) = %s, %v; want %s", tt.src, data.Repr(v), err, tt.want)
		}
	}
}

func TestAliasesShareTheirValue(t *testing.T) {
	v, err := Load([]byte("a: &x {k: 1}\nb: *x\nc: &y [1]\nd: *y\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := v.(*data.Map)
	m.Value("a").(*data.Map).Set("k", 2)
	m.Value("c").([]any)[0] = 3
	if got, want := data.Repr(m), "{'a': {'k': 2}, 'b': {'k': 2}, 'c': [3], 'd': [3]}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPositions(t *testing.T) {
	src := "a: 1\nb:\n  - x\n  - é: {k: v}\n\"q\": ~\n5: z\n"
	_, at, err := LoadPositions([]byte(src), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path         []any
		line, column int
	}{
		{nil, 0, 0},
		{[]any{"a"}, 0, 0},
		{[]any{"b", 0}, 2, 4},
		{[]any{"b", 1, "é", "k"}, 3, 8},
		{[]any{"q"}, 4, 0},
		{[]any{"5"}, 5, 0},
		{[]any{"none"}, -1, 0},
		{[]any{"b", 2}, -1, 0},
		{[]any{1.5}, -1, 0},
	} {
		m, ok := at.Of(tt.path...)
		if ok != (tt.line >= 0) || ok && m != (Mark{tt.line, tt.column}) {
			t.Errorf("Of(%v) = %v, %v; want %d:%d", tt.path, m, ok, tt.line, tt.column)
		}
	}
	if _, ok := (&Positions{}).Of("a"); ok {
		t.Error("the zero Positions knows a key")
	}
}

// laughs is the bomb of nine levels of ten aliases each, in lists or in merges.
func laughs(merge bool) string {
	var b strings.Builder
	b.WriteString("a0: &a0 {k0: lol}\n")
	for i := 1; i <= 9; i++ {
		refs := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", ")
		if merge {
			fmt.Fprintf(&b, "a%d: &a%d {<<: [%s]}\n", i, i, refs)
		} else {
			fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, refs)
		}
	}
	return b.String()
}

// TestCVE2013_4438 reads tags that would make objects or run programs (also CVE-2025-62348): each
// is an error.
func TestCVE2013_4438(t *testing.T) {
	for _, tag := range []string{"!!python/object/apply:os.system ['true']",
		"!!python/object:os.system {}", "!!python/object/new:subprocess.Popen [[true]]",
		"!!python/name:os.system ''", "!!python/module:os ''",
		"!!python/object/apply:builtins.eval ['1']",
		"!<tag:yaml.org,2002:python/object/apply:os.system> ['true']",
		"!!ruby/object:Gem::Installer {}", "!!javax.script.ScriptEngineManager []", "!exec true"} {
		for _, src := range []string{tag, "a: " + tag, "- " + tag, "{a: &x " + tag + ", b: *x}",
			"? " + tag + "\n: 1"} {
			if v, err := Load([]byte(src), Options{}); err == nil {
				t.Errorf("Load(%q) = %s", src, data.Repr(v))
			}
		}
	}
}

// TestCVE2013_4438Bombs reads texts that expand to huge values: they are rejected before memory is
// used.
func TestCVE2013_4438Bombs(t *testing.T) {
	chain := "a0: &a0 [x]\n"
	for i := 1; i < 400; i++ {
		chain += fmt.Sprintf("a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	for _, tt := range []struct{ name, src, want string }{
		{"aliases", laughs(false), "aliases followed"},
		{"merges", laughs(true), "aliases followed"},
		{"a chain of aliases", chain, "levels of nesting"},
		{"flow nesting", strings.Repeat("[", 1<<18), "max depth"},
		{"flow mappings", strings.Repeat("{a: ", 1<<18), "max depth"},
		{"block nesting", strings.Repeat("- ", 1<<18), "max depth"},
		{"nodes", "[" + strings.Repeat("a,", 1<<20) + "]", "the limit is 1000000"},
		{"size", strings.Repeat("#", 33<<20), "the limit is 33554432"},
		{"a long number", "a: 0x" + strings.Repeat("f", 1<<20), "cannot read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := []byte(tt.src)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Load(src, Options{})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Load = %.200v, want an error with %q", err, tt.want)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
				t.Errorf("refused after %d MiB", got>>20)
			}
		})
	}
}

func TestCyclicMergesEnd(t *testing.T) {
	for _, src := range []string{"a: &x {<<: *x, b: 1}", "a: &x {<<: [*x, *x], b: &y {<<: *x}}",
		"&a [*a, {<<: *a}]"} {
		v, err := Load([]byte(src), Options{Cycles: true})
		t.Logf("%T, %v", v, err)
	}
}

func TestDumpAnchors(t *testing.T) {
	shared := data.NewMap("k", int64(1))
	list := []any{shared, shared}
	v := data.NewMap("a", list, "b", list, "c", shared)
	for _, tt := range []struct {
		copies bool
		want   string
	}{
		{false, "a: &id002\n- &id001\n  k: 1\n- *id001\nb: *id002\nc: *id001\n"},
		{true, "a:\n- k: 1\n- k: 1\nb:\n- k: 1\n- k: 1\nc:\n  k: 1\n"},
	} {
		got, err := Dump(v, DumpOptions{Copies: tt.copies})
		if err != nil || string(got) != tt.want {
			t.Errorf("Dump, copies %v = %q, %v; want %q", tt.copies, got, err, tt.want)
		}
	}
	self := &data.Map{}
	self.Set("me", self)
	if got, err := Dump(self, DumpOptions{}); err != nil || string(got) != "&id001\nme: *id001\n" {
		t.Errorf("Dump of a map that holds itself = %q, %v", got, err)
	}
	if _, err := Dump(self, DumpOptions{Copies: true}); err == nil ||
		err.Error() != "dump yaml: more than 1000 levels of nesting" {
		t.Errorf("Dump of copies of itself: %v", err)
	}
}

func TestDumpOptions(t *testing.T) {
	v := data.NewMap("é", []any{int64(1)}, "t", time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC),
		"b", []byte("hi"), "big", new(big.Int).Lsh(big.NewInt(1), 70), "c",
		data.Const{Name: "NOT_SET"}, "s", strings.Repeat("word ", 8)+"end")
	for _, tt := range []struct {
		name string
		o    DumpOptions
		want string
	}{
		{"plain", DumpOptions{}, "é:\n- 1\nt: 2020-01-02 03:04:05.000006\nb: !!binary |\n  aGk=\nbig: 1180591620717411303424\nc: NULL\n" +
			"s: word word word word word word word word end\n"},
		{"all", DumpOptions{Indent: 4, Width: 20, EscapeUnicode: true, ExplicitStart: true,
			ExplicitEnd: true, SortKeys: true},
			"---\nb: !!binary |\n    aGk=\nbig: 1180591620717411303424\nc: NULL\n" +
				"s: word word word word\n    word word word word\n    end\nt: 2020-01-02 03:04:05.000006\n\"\\xE9\":\n- 1\n...\n"},
		{"no folding", DumpOptions{Width: -1, Flow: Always},
			"{é: [1], t: ! '2020-01-02 03:04:05.000006', b: !!binary \"aGk=\\n\", big: 1180591620717411303424, " +
				"c: NULL, s: word word word word word word word word end}\n"},
	} {
		got, err := Dump(v, tt.o)
		if err != nil || string(got) != tt.want {
			t.Errorf("Dump, %s: %v\ngot  %q\nwant %q", tt.name, err, got, tt.want)
		}
	}
	if _, err := Dump([]any{data.Raw{0xc0}}, DumpOptions{}); err == nil {
		t.Error("Dump took an encoded value")
	}
}

// bounded fails the test if read takes too long or too much memory.
func bounded(t *testing.T, src []byte, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	read()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20+uint64(len(src))*20_000 {
		t.Errorf("%q takes %d bytes", src, used)
	}
	if took > 10*time.Second {
		t.Errorf("%q takes %v", src, took)
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"a: 1\n", "- [x, {y: *z}]", "a: &x\n  <<: *x\n", "? [a]\n: b",
		"\"\\/\"", "[a,# c\n]", "%YAML 1.2\n--- |\n x\n", "!!omap [a: 1]", "!!set {a}",
		"!!binary aGk=", "a: {<<: [{b: 1}, {b: 2}]}", laughs(true), "'a' : |2-\n    x\n", "0x_: 1:2:3.4"} {
		f.Add([]byte(s))
	}
	f.Add([]byte("a:\n  b: {x: 1, # {\n y: 'q\n  r', z: [{}]}\n  c: |\n    d: {\n  e: {f: 1,\ng: 2}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		var v any
		var at *Positions
		var err error
		bounded(t, src, func() { v, at, err = LoadPositions(src, Options{Cycles: len(src)%2 == 1}) })
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Error() == "" {
				t.Fatalf("Load(%q): %#v", src, err)
			}
			return
		}
		at.Of("a", 0)
		out, err := Dump(v, DumpOptions{})
		if err != nil {
			t.Fatalf("Dump of Load(%q): %v", src, err)
		}
		again, err := Load(out, Options{Cycles: true})
		if err != nil {
			t.Fatalf("Load(%q) gave %q, which cannot be read: %v", src, out, err)
		}
		if second, err := Dump(again, DumpOptions{}); err != nil || !bytes.Equal(out, second) {
			t.Fatalf("Load(%q) gave %q and then %q, %v", src, out, second, err)
		}
	})
}

// TestDumpOrdered checks that an Ordered map keeps its order unless SortOrdered is set.
func TestDumpOrdered(t *testing.T) {
	m := data.NewMap("b", data.NewMap("d", int64(1), "c", int64(2)),
		"a", data.NewMap("d", int64(1), "c", int64(2)).SetOrdered())
	for o, want := range map[DumpOptions]string{
		{SortKeys: true}:                    "a: {d: 1, c: 2}\nb: {c: 2, d: 1}\n",
		{SortKeys: true, SortOrdered: true}: "a: {c: 2, d: 1}\nb: {c: 2, d: 1}\n",
		{}:                                  "b: {d: 1, c: 2}\na: {d: 1, c: 2}\n",
	} {
		o.Flow = Leaves
		if got, err := Dump(m.Clone(), o); err != nil || string(got) != want {
			t.Errorf("%+v gives %q, %v, want %q", o, got, err, want)
		}
	}
}
