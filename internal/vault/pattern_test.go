package vault

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestPatterns(t *testing.T) {
	values := data.NewMap("minion", "{pillar[s]}",
		"pillar", data.NewMap("l", []any{"a", "b"}, "m", []any{int64(1), int64(2)}, "s",
			"secret", int64(7), "seven"))
	for pattern, want := range map[string]string{
		"x": "[x]", "{minion}": "[{pillar[s]}]", "{pillar[l]}/{pillar[m]}": "[a/1 a/2 b/1 b/2]",
		"{pillar[l]}{pillar[l]}": "[aa bb]", "{{{pillar[s]}}}": "[{secret}]",
		"{pillar[7]}": "[seven]", "{pillar[l][1]}": "[b]", "{pillar[l][2]}": "missing",
		"{pillar[s][a]}": "missing", "{grains[a]}": "missing",
	} {
		got, err := Expand(pattern, values)
		text := fmt.Sprint(got)
		if errors.Is(err, ErrMissing) {
			text = "missing"
		}
		if text != want {
			t.Errorf("%s: %s, %v, want %s", pattern, text, err, want)
		}
	}
	long := make([]any, 40)
	values.Set("pillar", data.NewMap("l", long, "m", long))
	if _, err := Expand("{pillar[l]}{pillar[m]}", values); err == nil {
		t.Error("1600 paths")
	}
}

func TestValuesStayInTheirPlace(t *testing.T) {
	const pattern = "secret/{grains[role]}/x"
	for value, ok := range map[string]bool{
		"web": true, "web/a": true, "a..b": true, "...": true, "": true, ".": false, "..": false,
		"../../sys": false, "a/./b": false, "a?list=true": false, "a#b": false,
	} {
		for _, v := range []any{value, []any{"web", value}} {
			_, err := Expand(pattern, data.NewMap("grains", data.NewMap("role", v)))
			if ok != (err == nil) || errors.Is(err, ErrMissing) {
				t.Errorf("%q: %v", value, err)
			}
			if err != nil && (!strings.Contains(err.Error(), pattern) || len(value) > 2 &&
				strings.Contains(err.Error(), value)) {
				t.Errorf("%q: the error shows the value, or not the pattern: %s", value, err)
			}
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("secret/{minion}/{pillar[a][0]}", "x")
	f.Add("{{{grains[a]}}}", "{minion}")
	f.Fuzz(func(t *testing.T, pattern, value string) {
		got, err := Expand(pattern, data.NewMap("minion", value,
			"pillar", data.NewMap("a", []any{value, int64(1)}), "grains", data.NewMap("a", value)))
		if err == nil && len(got) == 0 {
			t.Error("nothing")
		}
	})
}
