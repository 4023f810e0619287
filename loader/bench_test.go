package loader

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
)

func BenchmarkCall(b *testing.B) {
	r, err := NewRegistry(&Env{}, []Plugin{{Name: "m", New: func(*Env) (*Module, error) {
		return &Module{Funcs: []Func{F("f", func(_ context.Context, a struct {
			Text   string
			Num    int       `default:"3"`
			Kwargs *data.Map `kwargs:"kwargs"`
		}) (any, error) {
			return a.Text, nil
		})}}, nil
	}}})
	if err != nil {
		b.Fatal(err)
	}
	arg := []any{"x", data.NewMap("__kwarg__", true, "num", int64(5), "more", true)}
	pub := data.NewMap("fun", "m.f", "arg", arg, "jid", "20261121075343076200", "tgt", "*", "user", "root")
	b.ReportAllocs()
	for b.Loop() {
		if res := r.Call(b.Context(), "m.f", arg, CallOptions{Pub: pub}); !res.Success {
			b.Fatal(res)
		}
	}
}

func BenchmarkYAMLArg(b *testing.B) {
	for name, s := range map[string]string{"word": "hello", "number": "42", "map": "{a: 1, b: [x, y]}"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				YAMLArg(s)
			}
		})
	}
}
