package jinja

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestALazyNameIsAskedByEachTemplate(t *testing.T) {
	n := int64(0)
	names := map[string]any{"n": Lazy(func() (any, bool) { n++; return n, true })}
	mustRender(t, `{{ n }}{% include "e" %}{% include "e" %}`, names,
		Options{Loader: MapLoader{"e": "{{ n }}"}}, "123")
}

func TestADictMayHaveANameOfItsOwn(t *testing.T) {
	own := data.NewMap("a", 1)
	tpl, err := environment(t, Options{Undefined: Strict}).Parse("x", `{{ d.zz }}`)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"": "'dict object' has no attribute 'zz'",
		"salt.Pillar": "'salt.Pillar object' has no attribute 'zz'"} {
		ctx := context.WithValue(t.Context(), DictNames{}, DictNamer(func(*data.Map) string { return kind }))
		_, err := tpl.Render(ctx, map[string]any{"d": own})
		var e *Error
		if !errors.As(err, &e) || e.Message != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestCallMethods(t *testing.T) {
	ask := Func(func(c *Call) (any, error) {
		less, err := c.Less(c.Args[0], c.Args[1])
		if err != nil {
			return nil, err
		}
		attr, ok, err := c.Attr(c.Args[2], "upper")
		if err != nil || !ok {
			return nil, err
		}
		up, err := c.Invoke(attr, nil, nil)
		if err != nil {
			return nil, err
		}
		joined, err := c.Filter("join", NewList("a", "b"), "-")
		if err != nil {
			return nil, err
		}
		item, err := c.Item(c.Args[3], "k")
		if err != nil {
			return nil, err
		}
		global, _ := c.Lookup("g")
		return data.Tuple{less, up, joined, item, global, c.Names().Has("set_here"), TypeName(item),
			Hashable(item)}, nil
	})
	o := Options{Globals: map[string]any{"ask": ask, "g": "G"}}
	mustRender(t, `{% set set_here = 1 %}{{ ask(1, 2, "up", {"k": [1]}) }}`, nil, o,
		"(True, 'UP', 'a-b', [1], 'G', True, 'list', False)")
	if _, err := render(t, `{{ ask(1, "a", "", {}) }}`, nil, o); !isKind(err, TypeError) {
		t.Errorf("1 < 'a' gives %v", err)
	}
}
