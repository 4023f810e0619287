package jinja

import (
	"context"
	"testing"
)

func render(t testing.TB, src string, names map[string]any, o Options) (string, error) {
	t.Helper()
	env, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := env.Parse("<template>", src)
	if err != nil {
		return "", err
	}
	return tpl.Render(context.Background(), names)
}

func TestRender(t *testing.T) {
	got, err := render(t, "{% for k, v in d.items() %}{{ loop.index }}:{{ k }}={{ v|join(',') }} {% endfor %}{{ 7 // 2 }} {% set x = [1] %}{% do x.append(2) %}{{ x }}",
		map[string]any{"d": map[string]any{"a": []any{1, 2}, "b": "xy"}}, Options{})
	if want := "1:a=1,2 2:b=x,y 3 [1, 2]"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
