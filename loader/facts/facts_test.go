package facts_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader/facts"
	"github.com/brineproject/brine/yaml"
)

func load(t *testing.T, text string) any {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The results are those of Salt 3006.0's traverse_dict_and_list.
func TestLookup(t *testing.T) {
	from := load(t, "{a: {b: 1, l: [x, {k: v}]}, '1': one, 2: two, n: null, true: yes}")
	for _, c := range []struct {
		key   any
		delim string
		want  string
	}{
		{"a:b", ":", "1 True"}, {"a:l:k", ":", "'v' True"}, {"a:l:-2", ":", "'x' True"}, {"a:l:7",
			":", "None False"},
		{"a|l|1|k", "|", "'v' True"}, {"2", ":", "'two' True"}, {int64(2), ":", "'two' True"},
		{int64(1), ":", "True True"}, {int64(3), ":", "None False"},
		{true, ":", "True True"}, {[]any{"a", "b"}, ":", "1 True"}, {data.Tuple{"a", "b"}, "",
			"1 True"}, {"n", ":", "None True"},
		{data.NewMap("a", nil, "b", nil), ":", "1 True"}, {"a", "", "empty separator"},
		{nil, ":", "'NoneType' object is not iterable"}, {1.5, ":", "'float' object is not iterable"},
		{[]any{[]any{}}, ":", "unhashable type: 'list'"},
	} {
		v, ok, err := facts.Lookup(from, c.key, c.delim)
		got := data.Repr(v) + " " + data.Str(ok)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Lookup(%s, %q) = %s, want %s", data.Repr(c.key), c.delim, got, c.want)
		}
	}
}

// The results are those of Salt 3006.0's filter_by.
func TestFilter(t *testing.T) {
	of := load(t, "{os: Debian, roles: [x, web1, db], n: 7, none: null}").(*data.Map)
	for _, c := range []struct{ table, rest, want string }{
		{"{Deb*: {a: 1}, Debian: {a: 2}}", "{key: os}", "{'a': 1}"},
		{"{db: 1, 'web?': 2}", "{key: roles}", "2"},
		{"{7: seven}", "{key: n}", "'seven'"},
		{"{default: d}", "{key: nothere}", "'d'"},
		{"{Debian: null, default: d}", "{key: os}", "'d'"},
		{"{Debian: {a: {x: 1}}}", "{key: os, merge: {a: {y: 2}}}", "{'a': {'x': 1, 'y': 2}}"},
		{"{Debian: {a: 1}, common: {a: 0, b: 2}}", "{key: os, base: common}", "{'a': 1, 'b': 2}"},
		{"{common: {a: 0}}", "{key: os, base: common}", "{'a': 0}"},
		{"{Debian: 1, common: {a: 0}}", "{key: os, base: common}",
			"filter_by default and look-up values must both be dictionaries."},
		{"{Debian: 1}", "{key: os, merge: {a: 1}}",
			"Cannot update using non-dict types in dictupdate.update()"},
		{"{Debian: 1}", "{key: os, merge: x}", "filter_by merge argument must be a dictionary."},
		{"{}", "{key: os, merge: {a: 1}}", "{'a': 1}"},
		{"{}", "{key: os, default: []}", "unhashable type: 'list'"},
		{"x", "{key: os}", "'str' object has no attribute 'get'"},
	} {
		o := load(t, c.rest).(*data.Map)
		table := load(t, c.table)
		before := data.Repr(table)
		f := facts.Filter{Table: table, Of: of, Key: o.Value("key"), Merge: o.Value("merge"),
			Default: "default", Base: o.Value("base")}
		if o.Has("default") {
			f.Default = o.Value("default")
		}
		for range 2 {
			v, err := f.Choose()
			got := data.Repr(v)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("filter_by %s %s: %s, want %s", c.table, c.rest, got, c.want)
			}
		}
		if data.Repr(table) != before {
			t.Errorf("filter_by %s %s changed the dictionary", c.table, c.rest)
		}
	}
}

// What is one list in the dictionary is one list in the result, as in Salt, but not that of the
// dictionary.
func TestFilterKeepsSharing(t *testing.T) {
	list := []any{"amd64"}
	v, err := facts.Filter{Table: data.NewMap("default", data.NewMap("a", list, "b", list)), Key: "os",
		Of: data.NewMap(), Default: "default"}.Choose()
	if err != nil {
		t.Fatal(err)
	}
	found := v.(*data.Map)
	found.Value("a").([]any)[0] = "arm64"
	if got := data.Repr(found); got != "{'a': ['arm64'], 'b': ['arm64']}" || list[0] != "amd64" {
		t.Errorf("got %s, and %s in the dictionary", got, data.Repr(list))
	}
}
