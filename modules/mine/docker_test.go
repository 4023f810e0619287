package mine

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// TestGetDocker compares with results of Salt 3006.18, in which the order of addresses is that of a set.
func TestGetDocker(t *testing.T) {
	text, err := os.ReadFile("testdata/docker.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := pyjson.Load(string(text))
	if err != nil {
		t.Fatal(err)
	}
	all := v.(*data.Map)
	h := &host{kept: data.NewMap(), reply: all.Value("hosts")}
	r := h.registry(t, false)
	for _, v := range all.Value("cases").([]any) {
		c := v.(*data.Map)
		kwargs := c.Value("kwargs").(*data.Map)
		got, err := r.Invoke(t.Context(), "mine.get_docker", nil, kwargs)
		if want := settled(c.Value("return")); err != nil || settled(got) != want {
			t.Errorf("mine.get_docker(%s)\n got %s, %v\nwant %s", data.Repr(kwargs), settled(got), err, want)
		}
	}
}

// settled prints a value without the order of lists, and as JSON has it.
func settled(v any) string {
	switch v := v.(type) {
	case *data.Map:
		var parts []string
		for k, v := range v.All() {
			parts = append(parts, data.Str(k)+": "+settled(v))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, one := range v {
			if pair, ok := one.(data.Tuple); ok {
				one = []any(pair)
			}
			parts = append(parts, data.Repr(one))
		}
		slices.Sort(parts)
		return strings.Join(parts, ", ")
	}
	return data.Repr(v)
}
