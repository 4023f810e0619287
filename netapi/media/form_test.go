package media

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// The expected values are those of Salt 3006.18 under Python 3.11.
func TestForm(t *testing.T) {
	for _, tt := range []struct{ form, want string }{
		{"&", `{}`},
		{"a", `{}`},
		{"a=", `{}`},
		{"a=&a=1", `{"a": "1"}`},
		{"=x", `{"": "x"}`},
		{"a=1", `{"a": "1"}`},
		{"a=1&a=2", `{"a": ["1", "2"]}`},
		{"a=1&b=0&a=2&a=3", `{"a": ["1", "2", "3"], "b": "0"}`},
		{"a=1;b=2", `{"a": "1;b=2"}`},
		{"a=b=c", `{"a": "b=c"}`},
		{"a+b=c+d", `{"a b": "c d"}`},
		{"%61=%62", `{"a": "b"}`},
		{"a=%", `{"a": "%"}`},
		{"a=%4", `{"a": "%4"}`},
		{"a=%zz", `{"a": "%zz"}`},
		{"a=%+1", `{"a": "% 1"}`},
		{"a=%2", `{"a": "%2"}`},
		{"a=%c3%A9", `{"a": "é"}`},
		{"a=%ff", `{"a": "\ufffd"}`},
		{"a=%e2%82", `{"a": "\ufffd"}`},
		{"a=%e2%82x%c3%a9", `{"a": "\ufffdxé"}`},
		{"a=%F0%9F%98", `{"a": "\ufffd"}`},
		{"a=%e2%82%ff%41", `{"a": "\ufffd\ufffdA"}`},
		{"a=é%c3", `{"a": "é\ufffd"}`},
		{"a=%00", `{"a": "\u0000"}`},
		{"arg=1", `{"arg": [1]}`},
		{"arg=one&arg=2&arg=[1,2]&arg=a=b", `{"arg": ["one", 2, [1, 2], "a=b"]}`},
		{"arg=", `{}`},
		{"arg=True", `{"arg": [true]}`},
		{"arg=None", `{"arg": [null]}`},
		{"arg=1_000", `{"arg": ["1_000"]}`},
		{"arg={a: 1}", `{"arg": [{"a": 1}]}`},
		{"arg=a: 1", `{"arg": ["a: 1"]}`},
		{"arg=- a", `{"arg": ["- a"]}`},
		{"arg=# c", `{"arg": ["# c"]}`},
		{"arg=[1, 2] # c", `{"arg": [[1, 2]]}`},
		{"arg=[", `{"arg": ["["]}`},
		{"arg=%09x", `{"arg": ["\tx"]}`},
		{"arg=2020-01-01", `{"arg": ["2020-01-01"]}`},
		{"arg=yes", `{"arg": [true]}`},
		{"arg= ", `{"arg": [" "]}`},
		{"arg=%C2%A0", `{"arg": ["\u00a0"]}`},
		{"arg=99999999999999999999", `{"arg": [99999999999999999999]}`},
		{"kwarg={z: 1}", `{"kwarg": {"z": 1}}`},
		{"kwarg=x", `{"kwarg": "x"}`},
		{"kwarg=[1]", `{"kwarg": [1]}`},
		{"kwarg={a: 1}&kwarg={b: 2}", `{"kwarg": ["{a: 1}", "{b: 2}"]}`},
		{"kwarg={z: 1}&arg=a&other=2", `{"kwarg": {"z": 1}, "arg": ["a"], "other": "2"}`},
	} {
		want, err := pyjson.Load(tt.want)
		if err != nil {
			t.Fatal(err)
		}
		body, err := Read(post("application/x-www-form-urlencoded", tt.form), 0)
		if err != nil {
			t.Errorf("%q: %v", tt.form, err)
			continue
		}
		if !data.Equal(body.Value, want) {
			t.Errorf("%q is %s, want %s", tt.form, data.Repr(body.Value), data.Repr(want))
		}
	}
}

func FuzzForm(f *testing.F) {
	for _, seed := range []string{"a=1&a=2", "arg=%5B1%5D&kwarg={a: 1}", "a=%ff%e2%82", "=", "a+b=%",
		"arg=%26a [*a]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, form string) {
		body, err := Read(post("application/x-www-form-urlencoded", form), 1<<16)
		var e *Error
		switch {
		case err == nil:
		case errors.As(err, &e) && e.Status/100 == 4:
			return
		default:
			t.Fatalf("Read(%q): %v", form, err)
		}
		m, _ := body.Value.(*data.Map)
		for k, v := range m.All() {
			if name, ok := k.(string); !ok || !utf8.ValidString(name) {
				t.Fatalf("%q has the key %q", form, k)
			}
			if text, ok := v.(string); ok && !utf8.ValidString(text) {
				t.Fatalf("%q has the value %q", form, text)
			}
		}
	})
}
