package jinja

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

func environment(t testing.TB, o Options) *Environment {
	t.Helper()
	env, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func render(t testing.TB, src string, names map[string]any, o Options) (string, error) {
	t.Helper()
	tpl, err := environment(t, o).Parse("<template>", src)
	if err != nil {
		return "", err
	}
	return tpl.Render(context.Background(), names)
}

func mustRender(t *testing.T, src string, names map[string]any, o Options, want string) {
	t.Helper()
	if got, err := render(t, src, names, o); err != nil || got != want {
		t.Errorf("%s\ngot  %q, %v\nwant %q", src, got, err, want)
	}
}

func TestValuesOfTheProgramAreNotChanged(t *testing.T) {
	list := []any{int64(1)}
	m := data.NewMap("l", list, "n", data.NewMap("k", "v"), "t", data.Tuple{list})
	mustRender(t, `{% do m.l.append(2) %}{% do m.n.update({"k": 3}) %}{% do m.t[0].append(4) %}{% do m.update({"z": 1}) %}{{ m }}`,
		map[string]any{"m": m}, Options{}, "{'l': [1, 2, 4], 'n': {'k': 3}, 't': ([1, 2, 4],), 'z': 1}")
	if want := "{'l': [1], 'n': {'k': 'v'}, 't': ([1],)}"; data.Repr(m) != want {
		t.Errorf("the program's value became %s, want %s", data.Repr(m), want)
	}
}

func TestGlobalsAreSeenWithoutContext(t *testing.T) {
	env := environment(t, Options{Loader: MapLoader{"m": "{{ g is defined }}{{ n is defined }}{{ e }}"}, Globals: map[string]any{"e": "E"}})
	tpl, err := env.Parse("x", `{% import "m" as m %}{{ m }}{{ g }}{{ n }}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tpl.RenderWith(t.Context(), map[string]any{"n": 1}, map[string]any{"g": 2})
	if want := "TrueFalseE21"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestAnImportedTemplateRunsOnceInARendering(t *testing.T) {
	o := Options{Loader: MapLoader{"m": `{% set l = [] %}{% macro add(v) %}{% do l.append(v) %}{{ l }}{% endmacro %}`}}
	src := `{% from "m" import add %}{{ add(1) }}{% from "m" import add as more %}{{ more(2) }}`
	for range 2 { // nothing is left for the next rendering
		mustRender(t, src, nil, o, "[1][1, 2]")
	}
}

func TestErrorsHavePlaces(t *testing.T) {
	o := Options{Undefined: Strict, Loader: MapLoader{"lib.j": "\n{% macro m(a) %}\n{{ a.x }}{% endmacro %}"}}
	_, err := render(t, "{% from 'lib.j' import m %}\n\n{{ m({}) }}", nil, o)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if got := fmt.Sprint(e.Trace); e.Template != "lib.j" || e.Line != 3 ||
		got != "[{lib.j 3 false} {<template> 3 false}]" || !strings.HasPrefix(e.Source, "\n{% macro") {
		t.Errorf("got %s line %d, trace %s, source %q", e.Template, e.Line, got, e.Source)
	}
	if want := "lib.j: line 3: 'dict object' has no attribute 'x'"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestWhatPythonRefuses(t *testing.T) {
	for src, want := range map[string]string{
		"\n{{ f(a=1, b=2, a=3) }}":                              "keyword argument repeated: a",
		"\n{% if 'x' | replace(old='x', old='y') %}{% endif %}": "keyword argument repeated: old",
		"\n{% call f(q=1, q=1) %}{% endcall %}":                 "keyword argument repeated: q",
		"\n{% macro m(a, b, a) %}{% endmacro %}":                "duplicate argument 'a' in function definition",
		"\n{% break %}":                                         "'break' outside loop",
		"\n{% continue %}":                                      "'continue' not properly in loop",
		"{% for i in [1] %}{% macro m() %}\n{% break %}{% endmacro %}{% endfor %}": "'break' outside loop",
	} {
		_, err := render(t, src, nil, Options{})
		var e *Error
		if !errors.As(err, &e) || e.Kind != PythonSyntaxError || e.Message != want || e.Line != 2 {
			t.Errorf("%q gives %v, want %s on line 2", src, err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	small := Limits{Depth: 50, Output: 10_000, Steps: 50_000, Value: 100_000, Memory: 1_000_000,
		Source: 5_000, Includes: 20}
	files := MapLoader{"self": `{% include "self" %}`, "base": `{% extends "base" %}`, "e": ""}
	for name, src := range map[string]string{
		"text times a number":     `{{ "a" * 10**9 }}`,
		"list times a number":     `{{ [1] * 10**9 }}`,
		"power":                   `{{ 10**(10**10) }}`,
		"powers of powers":        `{{ 2**500000 * 2**600000 }}`,
		"width of a format":       `{{ "%1000000000d" % 1 }}`,
		"precision":               `{{ "%.1000000000f" % 1 }}`,
		"width of str.format":     `{{ "{:1000000000}".format(1) }}`,
		"zeros of str.format":     `{{ "{:01000000000,}".format(1) }}`,
		"center":                  `{{ "a".center(10**9) }}`,
		"center as a filter":      `{{ "a" | center(10**9) }}`,
		"zfill":                   `{{ "1".zfill(10**9) }}`,
		"tabs":                    `{{ "\t".expandtabs(10**9) }}`,
		"indent":                  `{{ "a\nb" | indent(10**9) }}`,
		"replace":                 `{{ ("a" * 10000) | replace("a", "b" * 10000) }}`,
		"replace of nothing":      `{{ ("a" * 10000).replace("", "b" * 10000) }}`,
		"join":                    `{{ ("a" * 10000) | join("b" * 10000) }}`,
		"batch":                   `{{ [1] | batch(10**9, 0) | list }}`,
		"slice":                   `{{ [1] | slice(10**9) | list }}`,
		"tojson indent":           `{{ [[1]] | tojson(10**9) }}`,
		"lipsum":                  `{{ lipsum(10**9) }}`,
		"output":                  `{% for i in range(100000) %}aaaaaaaaaaaaaaaaaaaa{% endfor %}`,
		"steps":                   `{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}`,
		"a list that grows":       `{% set l = [1] %}{% for i in l %}{% do l.append(i) %}{% endfor %}`,
		"a text that grows":       `{% set ns = namespace(s="a") %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}`,
		"sums of texts":           `{% set ns = namespace(s="a") %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}`,
		"a block that grows":      `{% set s = "a" * 9000 %}{% for i in range(900) %}{% set b %}{{ s }}{% endset %}{% endfor %}`,
		"lists of lists":          `{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}`,
		"lists of lists compared": `{% set a = namespace(l=[1]) %}{% set b = namespace(l=[1]) %}{% for i in range(60) %}{% set a.l = [a.l, a.l] %}{% set b.l = [b.l, b.l] %}{% endfor %}{{ a.l == b.l }}`,
		"lists of lists as JSON":  `{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l | tojson }}`,
		"lists of lists, pretty":  `{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l | pprint }}`,
		"recursion of a macro":    `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`,
		"recursion of a loop":     `{% set l = [] %}{% do l.append(l) %}{% for i in l recursive %}{{ loop(i) }}{% endfor %}`,
		"recursion of a block":    `{% block a %}{{ self.a() }}{% endblock %}`,
		"recursion of include":    `{% include "self" %}`,
		"recursion of extends":    `{% extends "base" %}`,
		"many includes":           `{% for i in range(30) %}{% include ["x" ~ i, "e"] %}{% endfor %}`,
		"source":                  strings.Repeat("a", 6000),
		"a list from its front":   `{% set l = [1] * 6000 %}{% for i in l %}{% do l.insert(0, 1) %}{% do l.pop(0) %}{% do l.append(1) %}{% endfor %}`,
		"a dict from its front":   `{% set d = {}.fromkeys(range(9000)) %}{% for i in range(9000) %}{% do d.pop(i) %}{% endfor %}`,
		"a text again and again":  `{% set s = "a" * 90000 %}{% for i in range(10000) %}{{ "b" in s }}{{ s | length }}{{ s.count("b") }}{% endfor %}`,
		"dicts":                   `{% set d = {} %}{% for i in range(100000) %}{% do d.update({i: i}) %}{% endfor %}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, src, nil, Options{Limits: small, Loader: files})
			if !isKind(err, LimitError) {
				t.Errorf("%s gives %v, want a LimitError", src, err)
			}
		})
	}
}

func TestNestingOfSourceIsBounded(t *testing.T) {
	for _, part := range [][2]string{{"(", ")"}, {"[", "]"}, {"{1:", "}"}, {"-", ""}, {"not ", ""},
		{"x(", ")"}, {"x[", "]"}, {"x|default(", ")"}, {"1 if 1 else ", ""}, {"x is eq [", "]"}} {
		src := "{{ " + strings.Repeat(part[0], 5000) + "1" + strings.Repeat(part[1], 5000) + " }}"
		if _, err := render(t, src, nil, Options{}); !isKind(err, SyntaxError) {
			t.Errorf("nesting %q gives %v", part, err)
		}
	}
	for _, part := range []string{"1 + ", "1 and ", "1 or ", "2 ** ", "1 if 1 if ", "3 * "} {
		if _, err := render(t, "{{ "+strings.Repeat(part, 100_000)+"1 }}", nil,
			Options{}); !isKind(err, SyntaxError) {
			t.Errorf("%q in a row gives %v", part, err)
		}
	}
	for _, part := range []string{".a", "|upper", "()", "[0]", " is none is none"} {
		if _, err := render(t, "{{ x"+strings.Repeat(part, 100_000)+" }}", nil,
			Options{}); !isKind(err, SyntaxError) {
			t.Errorf("%q in a row gives %v", part, err)
		}
	}
	for _, part := range []string{"1 ~ ", "1 == ", "'a' ", "1, "} { // these do not nest
		if _, err := render(t, "{{ "+strings.Repeat(part, 100_000)+"1 }}", nil,
			Options{}); part != "'a' " && err != nil {
			t.Errorf("%q in a row gives %v", part, err)
		}
	}
	if _, err := render(t, strings.Repeat("{% if 1 %}", 5000), nil, Options{}); !isKind(err, SyntaxError) {
		t.Errorf("nested blocks give %v", err)
	}
}

func TestCyclicValues(t *testing.T) {
	const loop = `{% set l = [] %}{% do l.append(l) %}`
	mustRender(t, loop+`{{ l }}`, nil, Options{}, "[[...]]")
	mustRender(t, loop+`{{ l | pprint }}`, nil, Options{}, "[<Recursion on list with id=0>]")
	for _, src := range []string{`{{ l | tojson }}`,
		`{% set m = [] %}{% do m.append(m) %}{{ l == m }}`, `{{ f(l) }}`} {
		f := Func(func(c *Call) (any, error) { return Export(c.Args[0]) })
		if _, err := render(t, loop+src, map[string]any{"f": f}, Options{}); err == nil {
			t.Errorf("%s is not refused", src)
		}
	}
}

func TestAContextThatEndsEndsTheRendering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wait := Func(func(*Call) (any, error) { time.Sleep(10 * time.Millisecond); return nil, nil })
		tpl, err := environment(t, Options{}).Parse("x",
			`{% for i in range(100000) %}{% do wait() %}{% endfor %}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tpl.Render(ctx, map[string]any{"wait": wait}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

func TestATemplateIsRenderedByManyAtOnce(t *testing.T) {
	cache := NewCache(10, 1<<20)
	env := environment(t, Options{Cache: cache,
		Loader: MapLoader{"m": "{% macro m(a) %}<{{ a }}>{% endmacro %}"}})
	tpl, err := env.Parse("x", `{% from "m" import m %}{% for i in l %}{% set y = i * 2 %}{{ m(y) }}{% endfor %}{% do l.append(0) %}{{ l | length }}`)
	if err != nil {
		t.Fatal(err)
	}
	list := []any{1, 2, 3}
	done := make(chan string)
	for range 8 {
		go func() {
			got, err := tpl.Render(context.Background(), map[string]any{"l": list})
			done <- fmt.Sprint(got, err)
		}()
	}
	for range 8 {
		if got, want := <-done, "<2><4><6>4<nil>"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// host is a value of the program that implements all interfaces.
type host struct{}

func (host) TypeName() string { return "host.Type" }
func (host) Text() string     { return "HOST" }
func (host) Len() int         { return 2 }
func (host) Mapping()         {}
func (host) Attr(name string) (any, bool, error) {
	return "attr " + name, name == "a" || name == "both", nil
}
func (host) Item(key any) (any, bool, error) {
	if key == "fail" {
		return nil, false, errors.New("no luck")
	}
	return "item " + data.Str(key), key == "i" || key == "both", nil
}
func (host) Call(c *Call) (any, error) {
	args, err := c.Bind("host", "first", "second=")
	if err != nil {
		return nil, err
	}
	return data.Tuple{args[0], Given(args[1])}, nil
}
func (host) Contains(key any) (bool, error) { return key == "in", nil }
func (host) Iterate() Iterator              { return &sliceIterator{items: []any{"i", "both"}} }

func TestValuesOfTheProgram(t *testing.T) {
	names := map[string]any{"h": host{}}
	for src, want := range map[string]string{
		`{{ h }} {{ [h] }}`:                         "HOST [HOST]",
		`{{ h.a }} {{ h["a"] }}`:                    "attr a attr a",
		`{{ h.i }} {{ h["i"] }}`:                    "item i item i",
		`{{ h.both }} {{ h["both"] }}`:              "attr both item both",
		`{{ h(1) }} {{ h(1, 2) }} {{ h(first=3) }}`: "(1, False) (1, True) (3, False)",
		`{{ "in" in h }} {{ "out" in h }}`:          "True False",
		`{{ h | length }} {{ h | list }} {{ h is mapping }} {{ h is iterable }} {{ h is callable }}`: "2 ['i', 'both'] True True True",
		`{{ h | dictsort }}`:      "[('both', 'item both'), ('i', 'item i')]",
		`{{ dict(h) }}`:           "{'i': 'item i', 'both': 'item both'}",
		`{{ h.nope is defined }}`: "False",
	} {
		mustRender(t, src, names, Options{}, want)
	}
	for src, want := range map[string]string{
		`{{ h() }}`:         "host() missing 1 required positional argument: 'first'",
		`{{ h(1, x=2) }}`:   "host() got an unexpected keyword argument 'x'",
		`{{ h.nope }}`:      "'host.Type object' has no attribute 'nope'",
		`{{ h + 1 }}`:       "unsupported operand type(s) for +: 'Type' and 'int'",
		`{{ h["fail"] }}`:   "no luck",
		`{{ h._private }}`:  "'host.Type object' has no attribute '_private'",
		`{{ h.__class__ }}`: "access to attribute '__class__' of 'Type' object is unsafe.",
	} {
		_, err := render(t, src, names, Options{Undefined: Strict})
		var e *Error
		if !errors.As(err, &e) || e.Message != want || e.Line != 1 {
			t.Errorf("%s gives %v, want %s", src, err, want)
		}
	}
}

func TestFiltersTestsAndFunctionsOfTheProgram(t *testing.T) {
	o := Options{
		Filters: map[string]Func{"twice": func(c *Call) (any, error) {
			text, err := c.Str(c.Args[0])
			return text + text, err
		}, "upper": func(*Call) (any, error) { return "mine", nil }},
		Tests:   map[string]Func{"big": func(c *Call) (any, error) { return c.Args[0].(int64) > 9, nil }},
		Globals: map[string]any{"who": Func(func(c *Call) (any, error) { return fmt.Sprint(c.Template(), ":", c.Line()), nil })},
	}
	mustRender(t, "{{ 'a'|twice }}{{ 'a'|upper }}{{ [5, 10]|select('big')|list }}{{ ['a']|map('twice')|list }}{{ 'twice' is filter }}\n{{ who() }}",
		nil, o, "aamine[10]['aa']True\n<template>:2")
	o.Globals["fail"] = Func(func(*Call) (any, error) { return nil, fmt.Errorf("read: %w", errBroken) })
	_, err := render(t, "\n{{ fail() }}", nil, o)
	var e *Error
	if !errors.Is(err, errBroken) || !errors.As(err, &e) || e.Kind != HostError || e.Line != 2 {
		t.Errorf("got %v", err)
	}
}

var errBroken = errors.New("broken")

func TestExport(t *testing.T) {
	var got any
	keep := Func(func(c *Call) (v any, err error) { got, err = Export(c.Args[0]); return nil, err })
	mustRender(t, `{% set s = [1] %}{% do keep({"l": [1, (2, "x"|e)], "k": {"a": 1}.keys(), "r": range(2), "m": [1, 2]|map("string"), "s1": s, "s2": s, "b": 2**70}) %}`,
		map[string]any{"keep": keep}, Options{}, "")
	if want := "{'l': [1, (2, 'x')], 'k': ['a'], 'r': [0, 1], 'm': ['1', '2'], 's1': [1], 's2': [1], 'b': 1180591620717411303424}"; data.Repr(got) != want {
		t.Errorf("got  %s\nwant %s", data.Repr(got), want)
	}
	m := got.(*data.Map)
	if a, b := m.Value("s1").([]any), m.Value("s2").([]any); &a[0] != &b[0] {
		t.Error("a list that two places hold became two lists")
	}
	for _, src := range []string{`{% do keep(missing) %}`,
		`{% macro m() %}{% endmacro %}{% do keep([m]) %}`, `{% do keep(namespace()) %}`} {
		if _, err := render(t, src, map[string]any{"keep": keep}, Options{}); err == nil {
			t.Errorf("%s is not refused", src)
		}
	}
}

func TestFinalizeSeesWhatIsPrinted(t *testing.T) {
	o := Options{Finalize: func(v any) (any, error) {
		if v == nil {
			return "-", nil
		}
		return v, nil
	}}
	mustRender(t, `a{{ none }}{{ [none] }}{{ none ~ 1 }}{% set s %}{{ none }}{% endset %}{{ s }}`,
		nil, o, "a-[None]None1-")
}

// TestLongTextsTakeLinearTime would not end if they took longer.
func TestLongTextsTakeLinearTime(t *testing.T) {
	for _, src := range []string{
		`{{ ("a" * 500000) | wordwrap(1) | length }}`, `{{ ("a-b" * 200000) | wordwrap(2) | length }}`,
		`{{ ("é" * 250000) | wordwrap(3) | length }}`, `{{ ("a " * 250000) | wordwrap(3) | length }}`,
		`{{ ("<!--" * 500000) | striptags | length }}`, `{{ ("(" * 250000) | urlize | length }}`,
		`{{ ("a@" * 500000) | urlize | length }}`,
		`{{ ("a b" * 500000) | title | pprint | length }}`,
		`{{ ("{{" * 500000).format() | length }}`, `{{ (("%%" * 250000) % ()) | length }}`,
	} {
		if _, err := render(t, src, nil, Options{}); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
	for _, part := range []string{"{#", "{%", "{% raw", "{{ '", "%", "\n%", " ##", "{", "{% raw %}{%"} {
		render(t, strings.Repeat(part, 40_000), nil,
			Options{Syntax: Syntax{LineStatementPrefix: "%", LineCommentPrefix: "##"}})
		render(t, strings.Repeat(part, 40_000), nil, Options{})
	}
	many := strings.Repeat(`{% set a = 1 %}{% include "e" %}`, 5_000)
	render(t, many, nil, Options{Loader: MapLoader{"e": ""}, Limits: Limits{Includes: 1 << 30}})
}

func TestNewRejectsAmbiguousDelimiters(t *testing.T) {
	for _, s := range []Syntax{{BlockStart: "{{"}, {CommentStart: "{%"}, {NewlineSequence: "x"}} {
		if _, err := New(Options{Syntax: s}); err == nil {
			t.Errorf("%+v is not refused", s)
		}
	}
}
