package pyjson_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// TestAppend compares with the output of json.dumps of Python 3.11.
func TestAppend(t *testing.T) {
	plain := pyjson.Options{Comma: ", ", Colon: ": "}
	lines := pyjson.Options{Comma: ",", Colon: ": ", Lines: true, Step: " "}
	ascii := pyjson.Options{Comma: ",", Colon: ":", ASCII: true}
	skip, sorted := lines, plain
	skip.SkipKeys = true
	sorted.Sort = func(keys []any) ([]any, error) {
		slices.Reverse(keys)
		return keys, nil
	}
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, c := range []struct {
		o    pyjson.Options
		v    any
		want string
	}{
		{plain, data.NewMap("b", []any{int64(1), 2.0, nil, true}, "a", data.NewMap()),
			`{"b": [1, 2.0, null, true], "a": {}}`},
		{plain, data.NewMap(int64(2), "x", nil, "y", true, "z", 1.5, data.Tuple{}),
			`{"2": "x", "null": "y", "true": "z", "1.5": []}`},
		{plain, []any{math.NaN(), math.Inf(1), math.Inf(-1), 1e16, huge},
			`[NaN, Infinity, -Infinity, 1e+16, 123456789012345678901234567890]`},
		{plain, "é\x7f😀\"\\\n\x01/", `"é` + "\x7f" + `😀\"\\\n\u0001/"`},
		{ascii, []any{"é\x7f😀", "\b\f\r\t"}, `["\u00e9\u007f\ud83d\ude00","\b\f\r\t"]`},
		{lines, data.NewMap("a", []any{int64(1), []any{}}), "{\n \"a\": [\n  1,\n  []\n ]\n}"},
		{skip, data.NewMap(data.Tuple{int64(1)}, 1), "{}"},
		{sorted, data.NewMap("bb", int64(1), "a", int64(2)), `{"a": 2, "bb": 1}`},
	} {
		got, err := pyjson.Append(nil, c.v, c.o)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", data.Repr(c.v), got, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	self := data.NewMap()
	self.Set("me", []any{self})
	deep := any("x")
	for range 20 {
		deep = []any{deep}
	}
	o := pyjson.Options{Comma: ", ", Colon: ": ", NoNaN: true, Depth: 10}
	for _, c := range []struct {
		v    any
		want pyjson.Reason
	}{
		{[]any{[]byte("x")}, pyjson.BadType},
		{data.NewMap(data.Tuple{int64(1)}, 1), pyjson.BadKey},
		{[]any{math.NaN()}, pyjson.BadNumber},
		{self, pyjson.Circular},
		{deep, pyjson.TooDeep},
	} {
		_, err := pyjson.Append(nil, c.v, o)
		var e *pyjson.Error
		if !errors.As(err, &e) || e.Reason != c.want || e.Error() == "" {
			t.Errorf("got %v, want reason %d", err, c.want)
		}
	}
}

func TestHooks(t *testing.T) {
	full := errors.New("full")
	o := pyjson.Options{Comma: ", ", Room: func(bytes int) error {
		if bytes > 3 {
			return full
		}
		return nil
	}}
	if _, err := pyjson.Append(nil, []any{"abc", "d"}, o); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	o = pyjson.Options{Comma: ", ",
		Other: func(v any) (any, error) { return []any{data.Repr(v), int64(1)}, nil }}
	if got, err := pyjson.Append([]byte("x = "), []any{[]byte("b"), data.Const{Name: "c"}},
		o); err != nil || string(got[:11]) != `x = [["b'b'` {
		t.Errorf("got %s, %v", got, err)
	}
}
