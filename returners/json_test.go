package returners

import (
	"math"
	"math/big"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/output"
)

func TestParseJSON(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for text, want := range map[string]any{
		`{"b": 1, "a": [true, null, "ü\u00e9"]}`: data.NewMap("b", int64(1), "a", []any{true, nil, "üé"}),
		`-1.5e3`:                         -1500.0,
		`123456789012345678901234567890`: huge,
		`{"x": "NaN", "y": Infinity, "z": [-Infinity]}`: data.NewMap("x", "NaN", "y", math.Inf(1),
			"z", []any{math.Inf(-1)}),
		`{"q": "a \" NaN \\", "n": -Infinity}`: data.NewMap("q", `a " NaN \`, "n", math.Inf(-1)),
		`{"a": 1, "a": 2}`:                     data.NewMap("a", int64(2)),
	} {
		if got, err := ParseJSON([]byte(text)); err != nil || !data.Equal(got, want) {
			t.Errorf("ParseJSON(%s) = %s, %v", text, data.Repr(got), err)
		}
	}
	if v, err := ParseJSON([]byte("NaN")); err != nil || !math.IsNaN(v.(float64)) {
		t.Errorf("NaN is %v, %v", v, err)
	}
	deep := make([]byte, 1000)
	for i := range deep {
		deep[i] = '['
	}
	for _, text := range []string{"", "{", "[1", "1 2", "{1: 2}", "nul", string(deep)} {
		if v, err := ParseJSON([]byte(text)); err == nil {
			t.Errorf("ParseJSON(%.20q) = %v", text, v)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2.5, "x", null, true, NaN]}`, `"\ud800"`, `[-Infinity]`, `1e999`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseJSON([]byte(text))
		if err != nil {
			return
		}
		again, err := output.JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := ParseJSON([]byte(again)); err != nil || data.Repr(same) != data.Repr(v) {
			t.Errorf("%q is %s, and again %s, %v", text, data.Repr(v), data.Repr(same), err)
		}
	})
}

func TestSettings(t *testing.T) {
	known := []Setting{{Name: "host", Default: "salt"}, {Name: "port", Default: int64(1)},
		{Name: "file", Fixed: true}, {Name: "nodes", Key: "cluster.nodes"}}
	opts := data.NewMap("x.host", "plain", "x.port", int64(2), "x.file", "f", "x.cluster.nodes", "n",
		"alternative.x.host", "other", "map.x", data.NewMap("host", "inmap"), "x.empty", "")
	for name, c := range map[string]struct {
		ret  *data.Map
		want string
	}{
		"plain":                {nil, "plain 2 f n"},
		"alternative":          {data.NewMap("ret_config", "alternative"), "other 2 f n"},
		"alternative as a map": {data.NewMap("ret_config", "map"), "inmap 2 f n"},
		"unknown alternative":  {data.NewMap("ret_config", "nothing"), "plain 2 f n"},
		"kwargs": {data.NewMap("ret_config", "alternative",
			"ret_kwargs", data.NewMap("host", "k", "file", "evil", "nodes", "m")), "k 2 f m"},
		"kwargs that are no map": {data.NewMap("ret_kwargs", "host"), "plain 2 f n"},
	} {
		s := MapSource(opts).Read(c.ret, known, "x")
		port, err := s.Int("port")
		if got := s.Text("host") + " " + data.Str(int64(port)) + " " + s.Text("file") + " " +
			s.Text("nodes"); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
	s := MapSource(data.NewMap("x.host", "", "x.port", "None", "y.x", 1)).Read(nil, known, "x")
	if _, err := s.Int("port"); err == nil || s.Text("host") != "salt" || s.Text("port") != "" {
		t.Errorf("what is empty: %q %q %v", s.Text("host"), s.Text("port"), err)
	}
}

// A password may be empty; settings that may not be empty keep their default, as in Salt.
func TestAnEmptySettingMayBeOne(t *testing.T) {
	known := []Setting{{Name: "pass", Default: "salt", Empty: true}, {Name: "host", Default: "salt"}}
	for name, opts := range map[string]*data.Map{
		"text": data.NewMap("x.pass", "", "x.host", ""), "null": data.NewMap("x.pass", nil, "x.host", nil),
		"map":             data.NewMap("x", data.NewMap("pass", "", "host", nil)),
		"the second name": data.NewMap("y.pass", ""),
	} {
		s := MapSource(opts).Read(nil, known, "x", "y")
		if s.Text("pass") != "" || s.Text("host") != "salt" {
			t.Errorf("%s: pass %q, host %q", name, s.Text("pass"), s.Text("host"))
		}
	}
	opts := data.NewMap("x.pass", "secret", "alternative.x.pass", "")
	if got := MapSource(opts).Read(data.NewMap("ret_config", "alternative"), known,
		"x").Text("pass"); got != "" {
		t.Errorf("the alternative's empty password is %q", got)
	}
	if got := MapSource(&data.Map{}).Read(nil, known, "x").Text("pass"); got != "salt" {
		t.Errorf("a password that is not set is %q", got)
	}
}
