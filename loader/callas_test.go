package loader

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
)

func answering(v any) *Env {
	return &Env{Call: func(context.Context, string, []any, *data.Map) (any, error) { return v, nil }}
}

func TestCallAs(t *testing.T) {
	if s, err := CallAs[string](t.Context(), answering("x"), "a.b", nil, nil); s != "x" || err != nil {
		t.Errorf("got %q, %v", s, err)
	}
	if l, err := CallAs[[]string](t.Context(), answering([]any{"x", int64(1)}), "a.b", nil,
		nil); len(l) != 2 || l[1] != "1" || err != nil {
		t.Errorf("got %q, %v", l, err)
	}
	if b, err := CallAs[bool](t.Context(), answering("x"), "a.b", nil, nil); !b || err != nil {
		t.Errorf("got %v, %v", b, err)
	}
	if m, err := CallAs[*data.Map](t.Context(), answering(nil), "a.b", nil, nil); m != nil || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
	if n, err := CallAs[int](t.Context(), answering(int64(3)), "a.b", nil, nil); n != 3 || err != nil {
		t.Errorf("got %v, %v", n, err)
	}
	if v, err := CallAs[any](t.Context(), answering("x"), "a.b", nil, nil); v != "x" || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestCallAsTellsOtherTypes(t *testing.T) {
	for want, call := range map[string]func() error{
		"a.b: returned list, expected str": func() error {
			_, err := CallAs[string](t.Context(), answering([]any{}), "a.b", nil, nil)
			return err
		},
		"a.b: returned str, expected list": func() error {
			_, err := CallAs[[]string](t.Context(), answering("no"), "a.b", nil, nil)
			return err
		},
		"a.b: returned bool, expected dict": func() error {
			_, err := CallAs[*data.Map](t.Context(), answering(false), "a.b", nil, nil)
			return err
		},
		"a.b: returned bool, expected int": func() error {
			_, err := CallAs[int64](t.Context(), answering(true), "a.b", nil, nil)
			return err
		},
	} {
		if err := call(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
