package data_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

func big10(s string) *big.Int { n, _ := new(big.Int).SetString(s, 10); return n }

func TestRepr(t *testing.T) {
	zone := time.FixedZone("", 7200)
	for _, tt := range []struct {
		name string
		v    any
		want string
	}{
		{"none", nil, "None"},
		{"true", true, "True"},
		{"text", "a", "'a'"},
		{"text with a single quote", "it's", `"it's"`},
		{"text with both quotes", `it's "x"`, `'it\'s "x"'`},
		{"text with escapes", "a\\b\n\r\t\x00\x1f\x7f", `'a\\b\n\r\t\x00\x1f\x7f'`},
		{"text that prints", "é日本🧂", "'é日本🧂'"},
		{"text that does not print", "\u00a0\u00ad\u2028\ufeff\U000e0001\u0085",
			`'\xa0\xad\u2028\ufeff\U000e0001\x85'`},
		{"text that is not UTF-8", "a\xff", `'a\udcff'`},
		{"bytes", []byte("a'\x00\xff\n\\"), `b"a'\x00\xff\n\\"`},
		{"empty bytes", []byte{}, "b''"},
		{"whole float", 3.0, "3.0"},
		{"negative zero", math.Copysign(0, -1), "-0.0"},
		{"tenth", 0.1, "0.1"},
		{"below the exponent", 1234567890123456.7, "1234567890123456.8"},
		{"exponent", 1e16, "1e+16"},
		{"small", 0.0001, "0.0001"},
		{"smaller", 0.00001, "1e-05"},
		{"smallest", 5e-324, "5e-324"},
		{"large", 1.5e300, "1.5e+300"},
		{"infinite", math.Inf(-1), "-inf"},
		{"not a number", math.NaN(), "nan"},
		{"large integer", big10("18446744073709551616"), "18446744073709551616"},
		{"list", []any{int64(1), "a", nil}, "[1, 'a', None]"},
		{"tuple of one", data.Tuple{int64(1)}, "(1,)"},
		{"empty tuple", data.Tuple{}, "()"},
		{"map", data.NewMap("a", []any{}, int64(1), data.NewMap()), "{'a': [], 1: {}}"},
		{"time", time.Date(2023, 1, 2, 3, 4, 5, 6000, time.UTC), "datetime.datetime(2023, 1, 2, 3, 4, 5, 6)"},
		{"time at midnight", time.Date(2023, 1, 2, 0, 0, 0, 0, time.UTC),
			"datetime.datetime(2023, 1, 2, 0, 0)"},
		{"time with zone", time.Date(2023, 1, 2, 3, 4, 5, 0, zone),
			"datetime.datetime(2023, 1, 2, 3, 4, 5, tzinfo=datetime.timezone(datetime.timedelta(seconds=7200)))"},
		{"constant", data.Const{Name: "K", Value: int64(1)}, "<Constant.K value=1>"},
		{"constant without value", data.Const{Name: "K"}, "<Constant.K>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := data.Repr(tt.v); got != tt.want {
				t.Errorf("Repr = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestStr(t *testing.T) {
	at := time.Date(2023, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, tt := range []struct {
		v    any
		want string
	}{
		{"it's", "it's"},
		{[]any{"it's"}, `["it's"]`},
		{at, "2023-01-02 03:04:05.000006"},
		{at.Truncate(time.Second), "2023-01-02 03:04:05"},
		{at.In(time.FixedZone("", -5400)), "2023-01-02 01:34:05.000006-01:30"},
		{[]byte("x"), "b'x'"},
	} {
		if got := data.Str(tt.v); got != tt.want {
			t.Errorf("Str(%#v) = %s, want %s", tt.v, got, tt.want)
		}
	}
}

func TestMapKeysAreEqualAsInPython(t *testing.T) {
	groups := [][]any{
		{int64(1), 1, 1.0, true, big.NewInt(1)},
		{int64(0), false, math.Copysign(0, -1)},
		{"1"}, {[]byte("1")}, {nil}, {1.5}, {math.Inf(1)}, {math.Inf(-1)},
		{data.Tuple{int64(1)}, data.Tuple{1.0}, data.Tuple{true}},
		{data.Tuple{"1"}}, {data.Tuple{[]byte("1")}}, {data.Tuple{"1", "2"}}, {data.Tuple{"1,2"}},
		{data.Tuple{}},
		{1e300, wholeOf(1e300)}, {int64(math.MaxInt64)}, {float64(1 << 63), big10("9223372036854775808")},
		{time.Unix(5, 0).UTC(), time.Unix(5, 0).In(time.FixedZone("", 60))},
		{data.Const{Name: "a", Value: "b"}}, {data.Const{Name: "a", Value: []byte("b")}},
		{"<Constant.a value=b>"},
	}
	m := data.NewMap()
	for i, g := range groups {
		for _, k := range g {
			m.Set(k, i)
		}
	}
	if m.Len() != len(groups) {
		t.Fatalf("%d keys, want %d: %v", m.Len(), len(groups), data.Repr(m))
	}
	for i, g := range groups {
		for _, k := range g {
			if v, _ := m.Get(k); v != i {
				t.Errorf("key %#v has %v, want %d", k, v, i)
			}
		}
	}
}

func wholeOf(f float64) *big.Int { n, _ := big.NewFloat(f).Int(nil); return n }

func TestMapKeepsOrderThroughChange(t *testing.T) {
	for _, size := range []int{3, 11, 12, 13, 100} {
		m := data.NewMap()
		for i := range size {
			m.Set(int64(i), i)
		}
		m.Set(1.0, "new") // keeps position and spelling
		for _, k := range []int{0, size - 1} {
			if !m.Delete(k) || m.Delete(k) || m.Has(k) {
				t.Errorf("size %d: delete %d", size, k)
			}
		}
		m.Set(int64(0), "last")
		keys := m.Keys()
		if len(keys) != size-1 || keys[0] != int64(1) || keys[len(keys)-1] != int64(0) ||
			m.Value(1) != "new" {
			t.Errorf("size %d: %s", size, data.Repr(m))
		}
		for i := 2; i < size-1; i++ {
			if m.Value(i) != i {
				t.Errorf("size %d: key %d has %v", size, i, m.Value(i))
			}
		}
	}
}

func TestNaNKeysNeverMeet(t *testing.T) {
	m := data.NewMap()
	m.Set(math.NaN(), 1)
	m.Set(math.NaN(), 2)
	if m.Len() != 2 || m.Has(math.NaN()) {
		t.Errorf("got %s", data.Repr(m))
	}
}

func TestNilMapIsEmpty(t *testing.T) {
	var m *data.Map
	if m.Len() != 0 || m.Has("a") || m.Delete("a") || len(m.Keys()) != 0 || m.Clone().Len() != 0 {
		t.Error("a nil map is not empty")
	}
}

func TestHashable(t *testing.T) {
	for _, v := range []any{[]any{}, data.NewMap(), data.Tuple{[]any{}}, data.Const{Value: []any{}}} {
		if data.Hashable(v) {
			t.Errorf("Hashable(%s)", data.Repr(v))
		}
	}
	for _, v := range []any{nil, "a", []byte("a"), data.Tuple{"a"}, data.Const{}, data.Timestamp{},
		data.Ext{}, time.Time{}, data.Raw{1}} {
		if !data.Hashable(v) {
			t.Errorf("not Hashable(%s)", data.Repr(v))
		}
		data.NewMap().Set(v, 1) // must not panic
		data.NewMap(v, 1).Get(v)
	}
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true},
		{true, 1, true},
		{"a", []byte("a"), false},
		{nil, false, false},
		{nil, nil, true},
		{[]any{int64(1)}, []any{true}, true},
		{[]any{int64(1)}, data.Tuple{int64(1)}, false},
		{"a", []any{"a"}, false},
		{data.NewMap("a", 1, "b", 2), data.NewMap("b", 2.0, "a", true), true},
		{data.NewMap("a", 1), data.NewMap("a", 1, "b", 2), false},
		{data.NewMap("a", nil), data.NewMap("b", nil), false},
		{math.NaN(), math.NaN(), false},
		{data.Const{Name: "a", Value: []any{int64(1)}}, data.Const{Name: "a", Value: []any{int64(1)}}, true},
	} {
		if got := data.Equal(tt.a, tt.b); got != tt.want {
			t.Errorf("Equal(%s, %s) = %v", data.Repr(tt.a), data.Repr(tt.b), got)
		}
	}
}

func TestTruth(t *testing.T) {
	for _, v := range []any{nil, false, int64(0), 0, 0.0, "", []byte{}, []any{}, data.Tuple{},
		data.NewMap(), new(big.Int)} {
		if data.Truth(v) {
			t.Errorf("Truth(%s)", data.Repr(v))
		}
	}
	for _, v := range []any{true, int64(-1), 0.1, math.NaN(), "0", []byte{0}, []any{nil},
		data.NewMap(nil, nil), time.Time{}, data.Const{}} {
		if !data.Truth(v) {
			t.Errorf("not Truth(%s)", data.Repr(v))
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	inner := data.NewMap("x", []any{[]byte("b")})
	v := data.NewMap("m", inner, "t", data.Tuple{inner})
	c := data.Clone(v).(*data.Map)
	inner.Value("x").([]any)[0].([]byte)[0] = 'c'
	inner.Set("y", 1)
	if want := "{'m': {'x': [b'b']}, 't': ({'x': [b'b']},)}"; data.Repr(c) != want {
		t.Errorf("got %s, want %s", data.Repr(c), want)
	}
}

// Python's copy.deepcopy keeps what is one object one.
func TestDeepCopyKeepsSharing(t *testing.T) {
	list, tuple, inner := []any{"x"}, data.Tuple{"y"}, data.NewMap("k", "v")
	v := data.NewMap("a", list, "b", list, "c", data.Tuple{tuple, tuple}, "d", []any{inner, inner},
		"e", []any{}, "f", data.Tuple{}, "g", (*data.Map)(nil), "h", []any{"x"})
	c := data.DeepCopy(v).(*data.Map)
	if data.Repr(c) != data.Repr(v) {
		t.Errorf("got %s, want %s", data.Repr(c), data.Repr(v))
	}
	c.Value("a").([]any)[0] = "z"
	c.Value("c").(data.Tuple)[0].(data.Tuple)[0] = "z"
	c.Value("d").([]any)[1].(*data.Map).Set("k", "z")
	if list[0] != "x" || tuple[0] != "y" || inner.Value("k") != "v" {
		t.Errorf("the original has changed: %s", data.Repr(v))
	}
	want := "{'a': ['z'], 'b': ['z'], 'c': (('z',), ('z',)), 'd': [{'k': 'z'}, {'k': 'z'}], " +
		"'e': [], 'f': (), 'g': {}, 'h': ['x']}"
	if data.Repr(c) != want {
		t.Errorf("got %s, want %s", data.Repr(c), want)
	}
}

func TestVectorTraverse(t *testing.T) {
	f := vectors.Load(t, "11-targets.json")
	for _, c := range f.Section("traverse_dict_and_list") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("data", "key", "default", "value", "delimiter")
			delim := ":"
			if c.Has("delimiter") {
				delim = c.Text("delimiter")
			}
			got, ok := data.Lookup(c.Value("data"), c.Text("key"), delim)
			if !ok {
				got = c.Value("default")
			}
			if data.Repr(got) != data.Repr(c.Value("value")) {
				t.Errorf("Lookup(%q) = %s, want %s", c.Text("key"), data.Repr(got),
					data.Repr(c.Value("value")))
			}
		})
	}
}

func TestLookupReadsKeysAsYAML(t *testing.T) {
	m := data.NewMap(int64(7), "seven", true, "yes", nil, "null", 1.5, "float", "08",
		"text", int64(-8), "octal", "e", []any{data.NewMap(int64(0), "zero")})
	for _, tt := range []struct {
		path string
		want any
	}{
		{"7", "seven"}, {"007", "seven"}, {"+7", "seven"}, {"0b111", "seven"}, {"0x7", "seven"}, {"0_7", nil},
		{"yes", "yes"}, {"On", "yes"}, {"~", "null"}, {"None", "null"}, {"1.5", "float"}, {"08",
			"text"}, {"-010", "octal"},
		{"7.0", "seven"}, {" 7", "seven"}, {"e:0", "zero"}, {"e:-1:0", "zero"}, {"e:1", nil},
		{"e:99999999999999999999", nil}, {"", nil},
	} {
		if got, _ := data.Lookup(m, tt.path, ":"); got != tt.want {
			t.Errorf("Lookup(%q) = %v, want %v", tt.path, got, tt.want)
		}
	}
}

func FuzzLookup(f *testing.F) {
	f.Add("a:0:b", ":")
	f.Add("0x:~:-1", ":")
	f.Fuzz(func(t *testing.T, path, delim string) {
		v := data.NewMap("a", []any{data.NewMap("b", int64(1)), "x"}, int64(1), data.NewMap("c", nil))
		data.Lookup(v, path, delim)
	})
}

func FuzzRepr(f *testing.F) {
	f.Add("it's", []byte("x"))
	f.Fuzz(func(t *testing.T, s string, b []byte) {
		data.Repr([]any{s, b, data.NewMap(s, b)})
	})
}

func TestMapByPosition(t *testing.T) {
	m := data.NewMap("a", 1, "b", 2)
	if k, v := m.At(1); k != "b" || v != 2 {
		t.Errorf("At(1) = %v, %v", k, v)
	}
	for i := range 20 {
		m.Set(i, i)
	}
	if m.Clear(); m.Len() != 0 || m.Has("a") || m.Has(3) {
		t.Errorf("Clear leaves %s", data.Repr(m))
	}
	if m.Set("z", 1); m.Len() != 1 || m.Value("z") != 1 {
		t.Errorf("after Clear the map is %s", data.Repr(m))
	}
}
