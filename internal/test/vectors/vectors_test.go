package vectors_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

func TestDecode(t *testing.T) {
	large, _ := new(big.Int).SetString("18446744073709551616", 10)
	for src, want := range map[string]any{
		`7`:                                int64(7),
		`{"$int": "18446744073709551616"}`: large,
		`{"$float": "-0.0", "bits": "8000000000000000"}`: negativeZero(),
		`{"$bytes": "/w=="}`:                             []byte("\xff"),
		`{"$bytes": [0, 255]}`:                           []byte{0, 255},
		`{"$tuple": [1]}`:                                data.Tuple{int64(1)},
		`{"$set": [1]}`:                                  []any{int64(1)},
		`{"$map": [[1, "a"], [null, "b"]]}`:              data.NewMap(1, "a", nil, "b"),
		`{"$datetime": "2023-01-02T03:04:05.000006"}`:    time.Date(2023, 1, 2, 3, 4, 5, 6000, time.UTC),
		`{"$date": "2024-02-29"}`:                        time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		`{"$const": {"name": "K", "value": [1]}}`:        data.Const{Name: "K", Value: []any{int64(1)}},
		`{"$ext": {"code": 5, "data": "YQ=="}}`:          data.Ext{Code: 5, Data: []byte("a")},
		`{"$timestamp": [5, 6]}`:                         data.Timestamp{Seconds: 5, Nanoseconds: 6},
		`{"b": 1, "a": {"$other": 2}}`:                   data.NewMap("b", 1, "a", data.NewMap("$other", 2)),
		`[1.5, true, null, "é"]`:                         []any{1.5, true, nil, "é"},
		`["NaN \" Infinity", -Infinity, Infinity]`:       []any{"NaN \" Infinity", math.Inf(-1), math.Inf(1)},
	} {
		got, err := vectors.Decode([]byte(src))
		if err != nil || data.Repr(got) != data.Repr(want) {
			t.Errorf("%s: %s, %v, want %s", src, data.Repr(got), err, data.Repr(want))
		}
	}
	if v, _ := vectors.Decode([]byte(`{"$complex": "1j"}`)); v != (vectors.Unencodable{Kind: "$complex", Text: "1j"}) {
		t.Errorf("complex: %v", v)
	}
	for _, src := range []string{``, `1 2`, `{"$bytes": "!"}`, `{"$bytes": [256]}`,
		`{"$map": [[1]]}`, `{"$float": "1", "bits": "zz"}`, `{"$int": "x"}`, `[1`} {
		if v, err := vectors.Decode([]byte(src)); err == nil {
			t.Errorf("%s: %v", src, v)
		}
	}
}

func negativeZero() float64 { return math.Copysign(0, -1) }

func TestFilesAreThere(t *testing.T) {
	for _, name := range []string{"01-payload.json", "11-targets.json", "states/compile.json",
		"states/render.json", "yaml.json"} {
		if f := vectors.Load(t, name); f.Top.Len()+len(f.List) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	for _, c := range vectors.Load(t, "01-payload.json").Section("frame") {
		if c.Name == "" || c.Map.Len() == 0 {
			t.Errorf("case %q", c.Name)
		}
	}
}
