package jinja

import (
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

func TestSets(t *testing.T) {
	set := Func(func(c *Call) (any, error) { return NewSet(c.Args...) })
	for src, want := range map[string]string{
		`{{ set() }} {{ set(1, "a", 1.0) }}`:                                                                                                                                         "set() {1, 'a'}",
		`{{ set(1, 2) - set(2) }} {{ {"a": 1, "b": 2}.keys() - ["a"] }}`:                                                                                                             "{1} {'b'}",
		`{{ set(1, 2).union([3], (4,)) }} {{ set(1, 2).intersection([2, 3]) }}`:                                                                                                      "{1, 2, 3, 4} {2}",
		`{{ set(1, 2).difference([2]) }} {{ set(1, 2).symmetric_difference([2, 3]) }}`:                                                                                               "{1} {1, 3}",
		`{{ set(1).issubset([1, 2]) }} {{ set(1).issuperset([1, 2]) }} {{ set(1).isdisjoint([2]) }}`:                                                                                 "True False True",
		`{{ set(1) < set(1, 2) }} {{ set(1) <= set(1) }} {{ set(1) > set(1) }} {{ set(1, 2) == set(2, 1) }}`:                                                                         "True True False True",
		`{% set q = set(1) %}{% do q.add(2) %}{% do q.update([3]) %}{% do q.discard(1) %}{% do q.discard(9) %}{% do q.remove(3) %}{{ q }}{{ 2 in q }}{{ q | length }}{{ q | list }}`: "{2}True1[2]",
		`{{ set(1) is iterable }} {{ set(1) is sequence }}`:                                                                                                                          "True False",
	} {
		mustRender(t, src, map[string]any{"set": set}, Options{}, want)
	}
	for src, kind := range map[string]Kind{`{{ set([1]) }}`: TypeError,
		`{{ set(1).remove(2) }}`: KeyError, `{{ {}.values() - [1] }}`: TypeError} {
		if _, err := render(t, src, map[string]any{"set": set}, Options{}); !isKind(err, kind) {
			t.Errorf("%s gives %v, want %s", src, err, kind)
		}
	}
}

func TestImport(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{
		{int32(-5), "-5"}, {uint64(1 << 63), "9223372036854775808"}, {uint8(7), "7"}, {float32(0.5),
			"0.5"}, {7, "7"},
		{[]string{"a"}, "['a']"}, {map[string]any{"b": []any{1}, "a": nil}, "{'a': None, 'b': [1]}"},
		{data.Tuple{[]any{1}}, "([1],)"}, {[]byte("x"), "b'x'"}, {(*data.Map)(nil), "None"},
		{time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), "2024-01-02 03:04:05"},
	} {
		mustRender(t, "{{ v }}", map[string]any{"v": tt.v}, Options{}, tt.want)
	}
}

// TestPowers compares with C's pow.
func TestPowers(t *testing.T) {
	for src, want := range map[string]string{
		"2 ** 3.7": "12.99603834169977", "10**25 ** 2.5": "3.16227766016838e+62",
		"0.5 ** 0.5": "0.7071067811865476", "2.0 ** -1074": "5e-324", "(-2.0) ** 3": "-8.0",
		"(-2.5) ** -3": "-0.064", "1.0000001 ** 1e9": "2.6881038582144647e+43",
		"3 ** -2": "0.1111111111111111", "0.1 ** 2": "0.010000000000000002",
		"7.3 ** 11.9": "18773361172.49185", "1e-200 ** 2": "0.0",
	} {
		mustRender(t, "{{ "+src+" }}", nil, Options{}, want)
	}
}
