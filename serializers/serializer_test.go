package serializers_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/serializers"
)

// TestCalls compares with Salt 3006.0's slsutil.serialize and slsutil.deserialize.
func TestCalls(t *testing.T) {
	calls.Check(t, "testdata/calls.json",
		func(_ context.Context, fun string, args []any, kwargs *data.Map) (any, error) {
			if fun == "slsutil.serialize" {
				return serializers.Write(args[0].(string), args[1], kwargs)
			}
			return serializers.Read(args[0].(string), args[1], kwargs)
		})
}

// TestRoundTrip checks that written values are read back unchanged.
func TestRoundTrip(t *testing.T) {
	v := data.NewMap("a", data.NewMap("b", "it's \"q\" \\ \n\x01 €", "c", "", "d", "x y"))
	for _, format := range []string{"json", "yaml", "toml", "msgpack", "keyvalue"} {
		in := any(v)
		if format == "keyvalue" {
			in = data.NewMap("b", "it's", "c", "")
		}
		text, err := serializers.Write(format, in, nil)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if got, err := serializers.Read(format, text, nil); err != nil || !data.Equal(got, in) {
			t.Errorf("%s: %q is read as %s, %v", format, text, data.Repr(got), err)
		}
	}
}

// TestInterpolationIsBounded checks that options that refer to one another do not take forever.
func TestInterpolationIsBounded(t *testing.T) {
	text := "[a]\n"
	for i := range 9 {
		text += string(rune('a'+i)) + " ="
		for range 50 {
			text += " %(" + string(rune('b'+i)) + ")s"
		}
		text += "\n"
	}
	if _, err := serializers.Read("configparser", text+"j = %%\n", nil); err == nil {
		t.Error("there is no end to it")
	}
}

// TestDefaultsOfSections checks that the option defaults adds options to every section, which
// values may refer to, as in Python's ConfigParser.
func TestDefaultsOfSections(t *testing.T) {
	opts := data.NewMap("defaults", data.NewMap("X", "baz", "n", int64(1)))
	got, err := serializers.Read("configparser", "[DEFAULT]\nn = 2\n[foo]\nbar = %(x)s\n", opts)
	if want := "{'foo': {'x': 'baz', 'n': '2', 'bar': 'baz'}}"; err != nil || data.Repr(got) != want {
		t.Errorf("read: %s, %v; want %s", data.Repr(got), err, want)
	}
	opts = data.NewMap("defaults", data.NewMap("y", "not_used"))
	text, err := serializers.Write("configparser", data.NewMap("foo", data.NewMap("abc", int64(123))), opts)
	if want := "[DEFAULT]\ny = not_used\n\n[foo]\nabc = 123\n\n"; err != nil || text != want {
		t.Errorf("written: %q, %v; want %q", text, err, want)
	}
	for _, wrong := range []*data.Map{data.NewMap("defaults", "text"),
		data.NewMap("defaults", data.NewMap("a", nil))} {
		if v, err := serializers.Read("configparser", "[foo]\n", wrong); err == nil {
			t.Errorf("defaults %s are read as %s", data.Repr(wrong), data.Repr(v))
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, format := range []string{"json", "yaml", "toml", "configparser", "keyvalue"} {
		for _, text := range []string{"[a]\nb = 1\n c\n[d]\ne: %(b)s\n", "{\"a\": [1, null]}",
			"a: [b, {c: d}]\n", "a = 1\n[[b]]\nc = \"x\"\n"} {
			f.Add(format, text)
		}
	}
	f.Fuzz(func(t *testing.T, format, text string) {
		v, err := serializers.Read(format, text, nil)
		if err != nil {
			return
		}
		_, _ = serializers.Write(format, v, nil)
	})
}

// TestManyTablesTakeLittleMemory writes tables for which text that grows by copying would take more
// than a gigabyte.
func TestManyTablesTakeLittleMemory(t *testing.T) {
	top, list := data.NewMap(), data.NewMap()
	for i := range 4000 {
		name := fmt.Sprintf("table%d", i)
		top.Set(name, data.NewMap("a", strings.Repeat("x", 100)))
		list.Set(name, data.NewMap("a", strings.Repeat("x", 100)))
	}
	for name, v := range map[string]*data.Map{"tables": top,
		"tables of an array": data.NewMap("l", []any{list})} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := serializers.Write("toml", v, nil)
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || took > 100 ||
			len(data.Str(text)) < 400_000 {
			t.Errorf("%s: %d MiB, %v", name, took, err)
		}
	}
}
