package media

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

func TestLow(t *testing.T) {
	for _, tt := range []struct{ name, kind, body, want string }{
		{"an object", "application/json", `{"a": 1}`, `[{"a": 1}]`},
		{"an empty list", "application/json", `[]`, `[]`},
		{"an empty chunk", "application/json", `[{}]`, `[{}]`},
		{"two chunks", "application/json", `[{"a": 1}, {"b": 2}]`, `[{"a": 1}, {"b": 2}]`},
		{"arg is a text", "application/json", `{"arg": "a b=1"}`, `[{"arg": ["a b=1"]}]`},
		{"arg is null", "application/json", `[{"arg": null}]`, `[{"arg": [null]}]`},
		{"arg is an object", "application/json", `[{"arg": {"a": 1}}]`, `[{"arg": [{"a": 1}]}]`},
		{"arg is a list", "application/json", `[{"arg": []}, {"arg": [1]}]`, `[{"arg": []}, {"arg": [1]}]`},
		{"a form", "application/x-www-form-urlencoded", "tgt=a&tgt=b&arg=1", `[{"tgt": ["a", "b"], "arg": [1]}]`},
		{"text that is JSON", "text/plain", `{"a": 1}`, `[{"a": 1}]`},
		{"YAML", "text/yaml", "- a: 1\n  arg: x\n", `[{"a": 1, "arg": ["x"]}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, err := Read(post(tt.kind, tt.body), 0)
			if err != nil {
				t.Fatal(err)
			}
			low, err := body.Low()
			if err != nil {
				t.Fatal(err)
			}
			got := []any{}
			for _, m := range low {
				got = append(got, m)
			}
			want, _ := pyjson.Load(tt.want)
			if !data.Equal(got, want) {
				t.Errorf("Low of %s = %s, want %s", tt.body, data.Repr(got), tt.want)
			}
		})
	}
}

func TestLowRejects(t *testing.T) {
	const noList = "Lowstates must be a list"
	for _, tt := range []struct{ name, kind, body, text string }{
		{"null", "application/json", "null", noList},
		{"an empty object", "application/json", "{}", noList},
		{"an empty text", "application/json", `""`, noList},
		{"a text", "application/json", `"x"`, noList},
		{"a number", "application/json", "1", noList},
		{"plain text", "text/plain", "hello", noList},
		{"no body", "application/json", "", noList},
		{"an empty form", "application/x-www-form-urlencoded", "a=", noList},
		{"a list of texts", "application/json", `[{}, "x"]`,
			"Lowstates must be a list of objects; item 2 is none"},
		{"a list of null", "application/json", `[null]`, "Lowstates must be a list of objects; item 1 is none"},
		{"a list in a list", "application/json", `[[{}]]`, "Lowstates must be a list of objects; item 1 is none"},
		{"a key that is a number", "text/yaml", "{1: a}",
			"The keys of a lowstate must be text; one in item 1 is not"},
		{"1001 chunks", "application/json", "[" + strings.Repeat("{},", 1000) + "{}]",
			"Lowstates must have at most 1000 chunks, not 1001"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, err := Read(post(tt.kind, tt.body), 0)
			if err != nil {
				t.Fatal(err)
			}
			low, err := body.Low()
			if low != nil {
				t.Errorf("%d chunks", len(low))
			}
			wantError(t, err, 400, tt.text)
		})
	}
}

func TestChunks(t *testing.T) {
	body, err := Read(post("application/json", "[{}, {}]"), 0)
	if err != nil {
		t.Fatal(err)
	}
	body.Chunks = 2
	if low, err := body.Low(); err != nil || len(low) != 2 {
		t.Errorf("Low = %v, %v", low, err)
	}
	body.Chunks = 1
	_, err = body.Low()
	wantError(t, err, 400, "Lowstates must have at most 1 chunks, not 2")
}

// An alias repeats a map; what the caller sets in one chunk must not show in another or in the body.
func TestLowMapsAreSeparate(t *testing.T) {
	body, err := Read(post("text/yaml", "- &a {fun: test.ping}\n- *a\n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	low, err := body.Low()
	if err != nil {
		t.Fatal(err)
	}
	low[0].Set("token", "secret")
	if low[1].Has("token") {
		t.Error("the second chunk has the token of the first")
	}
	if strings.Contains(data.Repr(body.Post()), "secret") {
		t.Error("the body has the token")
	}
}
