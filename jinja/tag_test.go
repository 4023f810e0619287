package jinja

import (
	"errors"
	"strings"
	"testing"
)

// loadTag is {% load_words as name %}...{% endload %}: the words of its body become a list.
type loadTag struct{}

func (loadTag) Parse(p *TagParser) func(*TagRun) error {
	p.Need("as")
	p.Target()
	body := p.Body(true, "endload")
	return func(r *TagRun) error {
		text, err := r.Body(body)
		if err != nil {
			return err
		}
		if strings.Contains(text, "bad") {
			return Raise(RuntimeError, "bad words in %s", r.Template())
		}
		list := &List{}
		for _, w := range strings.Fields(text) {
			list.Items = append(list.Items, w)
		}
		return r.Set(list)
	}
}

// importTag is {% import_words "file" as name [with context] %}.
type importTag struct{}

func (importTag) Parse(p *TagParser) func(*TagRun) error {
	file := p.Expression()
	p.Need("as")
	p.Target()
	with := p.WithContext(false)
	return func(r *TagRun) error {
		name, err := r.Value(file)
		if err != nil {
			return err
		}
		text, err := r.Import(name, with)
		if err != nil {
			return err
		}
		return r.Set(strings.Join(strings.Fields(text), "+"))
	}
}

// timesTag is {% times 3 %}...{% endtimes %}, whose body shares the enclosing frame.
type timesTag struct{}

func (timesTag) Parse(p *TagParser) func(*TagRun) error {
	n := p.Expression()
	if p.Word("never") {
		p.Fail("never say never")
	}
	body := p.Body(false, "endtimes")
	return func(r *TagRun) error {
		v, err := r.Value(n)
		if err != nil {
			return err
		}
		for range v.(int64) {
			if err := r.RunBody(body); err != nil {
				return err
			}
		}
		return r.Write(".")
	}
}

func tagOptions() Options {
	return Options{
		Undefined: Strict,
		Tags:      map[string]Tag{"load_words": loadTag{}, "import_words": importTag{}, "times": timesTag{}},
		Loader: MapLoader{"w": "a {{ x|default('-') }} {{ y|default('-') }}",
			"lib": "{% load_words as exported %}p q{% endload %}"},
	}
}

func TestTags(t *testing.T) {
	names := map[string]any{"x": 1}
	for src, want := range map[string]string{
		`{% load_words as w %}a {{ x }}{% set inner = 1 %} b{% endload %}{{ w }}{{ inner is defined }}`:     "['a', '1', 'b']False",
		`{% set y = 2 %}{% import_words "w" as w %}{{ w }} {% import_words "w" as w with context %}{{ w }}`: "a+-+- a+1+2",
		`{% for i in [1] %}{% load_words as w %}z{% endload %}{{ w }}{% endfor %}{{ w is defined }}`:        "['z']False",
		`{% from "lib" import exported %}{{ exported }}`:                                                    "['p', 'q']",
		`{% times 2 %}{% set q = x %}{{ q }}{% endtimes %}{{ q }}`:                                          "11.1",
		`{% macro m() %}{% load_words as w %}{{ x }}{% endload %}{{ w }}{% endmacro %}{{ m() }}`:            "['1']",
	} {
		mustRender(t, src, names, tagOptions(), want)
	}
}

func TestFaultsOfTags(t *testing.T) {
	for src, want := range map[string]string{
		"\n{% load_words as %}":                       "expected token 'name', got 'end of statement block'",
		"\n{% load_words w %}":                        "expected token 'as', got 'w'",
		"\n{% load_words as w %}x":                    "Unexpected end of template. Jinja was looking for the following tags: 'endload'. The innermost block that needs to be closed is 'load_words'.",
		"\n{% load_words as w %}bad{% endload %}":     "bad words in <template>",
		"\n{% times 1 never %}{% endtimes %}":         "never say never",
		"\n{% load_words as w %}{{ q }}{% endload %}": "'q' is undefined",
		"\n{% import_words 'nope' as w %}":            "nope",
	} {
		_, err := render(t, src, nil, tagOptions())
		var e *Error
		if !errors.As(err, &e) || e.Message != want || e.Line != 2 {
			t.Errorf("%q gives %v, want %s on line 2", src, err, want)
		}
	}
}
