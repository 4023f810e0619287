package minion

import (
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// The results are those of get_ext_pillar_extra_minion_data of Salt 3006.0.
func TestExtraDataForExternalPillars(t *testing.T) {
	for _, c := range []struct {
		names any
		want  string
	}{
		{nil, "{}"},
		{[]any{}, "{}"},
		{[]any{"color", "deep:er:a", "not:there", "color:x"}, "{'color': 'red', 'deep': {'er': {'a': 1}}}"},
		{[]any{"deep:er:a", "deep:er:l", "deep:er"}, "{'deep': {'er': {'a': 1, 'l': [1, 2]}}}"},
		{"color", "'pass_to_ext_pillars' config is malformed."},
		{[]any{int64(1)}, "pass_to_ext_pillars: 1 is not the name of an option"},
	} {
		opts := data.NewMap("color", "red",
			"deep", data.NewMap("er", data.NewMap("a", int64(1), "l", []any{int64(1), int64(2)})))
		before := data.Repr(opts)
		if c.names != nil {
			opts.Set("pass_to_ext_pillars", c.names)
		}
		m := newMinion(config.DefaultMinion(), opts, Options{})
		got, err := m.extraData()
		text := data.Repr(got)
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("pass_to_ext_pillars %s: %s, want %s", data.Repr(c.names), text, c.want)
		}
		if opts.Delete("pass_to_ext_pillars"); data.Repr(opts) != before {
			t.Errorf("pass_to_ext_pillars %s changed the options", data.Repr(c.names))
		}
	}
}
