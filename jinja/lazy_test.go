package jinja

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestHelpersForPrograms(t *testing.T) {
	n := int64(0)
	pillar := data.NewMap()
	globals := map[string]any{
		"count":   Lazy(func() (any, bool) { n++; return n, n < 3 }),
		"pillar":  Lazy(func() (any, bool) { return pillar, true }),
		"smaller": Func(func(c *Call) (any, error) { return c.Less(c.Args[0], c.Args[1]) }),
		"upper":   Func(func(c *Call) (any, error) { return c.Filter("upper", c.Args[0]) }),
	}
	env, err := New(Options{Undefined: Strict,
		Loader: MapLoader{"a": "{{ count is defined }} ", "b": "{{ count is defined }} ",
			"c": "{{ count is defined }} "}})
	if err != nil {
		t.Fatal(err)
	}
	render := func(src string) (string, error) {
		tpl, err := env.Parse("main", src)
		if err != nil {
			t.Fatal(err)
		}
		names := DictNamer(func(m *data.Map) string {
			if m == pillar {
				return "Pillar"
			}
			return ""
		})
		return tpl.RenderWith(context.WithValue(t.Context(), DictNames{}, names), nil, globals)
	}
	got, err := render(`{% include "a" %}{% include "b" %}{% include "c" %}{{ smaller(1, 2) }} {{ upper("x") }}`)
	if want := "True True False True X"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for src, want := range map[string]string{"{{ pillar.a }}": "'Pillar object' has no attribute 'a'", "{{ {}.a }}": "'dict object' has no attribute 'a'"} {
		_, err := render(src)
		if e, ok := err.(*Error); !ok || e.Message != want {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
}
