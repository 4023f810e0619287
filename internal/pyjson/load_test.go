package pyjson_test

import (
	"testing"

	"github.com/brineproject/brine/internal/pyjson"
)

func FuzzLoad(f *testing.F) {
	for _, s := range []string{`{"a": [1, -2.5e3, null, true], "b": "\ud83d\ude00\u00e9"}`,
		`[NaN, -Infinity]`, `{"a": 1,}`, `"\x"`, "[[[["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = pyjson.Load(text)
	})
}
