package match

import (
	"context"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

type keyArgs struct{ Key any }

// store replaces the module data.
func store(values *data.Map) loader.Plugin {
	return loader.Plugin{Name: "data", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("get",
			func(_ context.Context, a keyArgs) (any, error) {
				return values.Value(a.Key), nil
			})}}, nil
	}}
}

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	grains := data.NewMap("os", "Debian", "roles", []any{"web", "db"},
		"ipv4", []any{"127.0.0.1", "192.168.44.7"}, "ipv6", []any{"::1"})
	pillar := data.NewMap("cheese", "swiss", "clone", data.NewMap("url", "https://github.com/a/b.git"))
	opts := data.NewMap("id", "web1", "nodegroups", data.NewMap("web", "web* and G@os:Debian"))
	r, err := loader.NewRegistry(&loader.Env{Opts: opts, Grains: func() *data.Map { return grains },
		Pillar: func() *data.Map { return pillar }},
		[]loader.Plugin{Plugin(), store(data.NewMap("spam", "eggs", "list", []any{"One", "two"},
			"map", data.NewMap("k", 1)))})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call runs a function with arguments in command-line syntax and returns the result in Python's
// notation.
func call(t *testing.T, r *loader.Registry, line string) string {
	t.Helper()
	words := strings.Split(line, " | ")
	res := r.Call(t.Context(), "match."+words[0], loader.WireArgs(words[1:]), loader.CallOptions{})
	return data.Repr(res.Value)
}

// TestCalls compares with the results of Salt 3006.0 for the same grains and pillar.
func TestCalls(t *testing.T) {
	r := registry(t)
	for line, want := range map[string]string{
		"compound | web* and G@os:Debian":            "True",
		"compound | web* and not G@os:Debian":        "False",
		"compound | L@cheese,web1 and E@w.*":         "True",
		"compound | db* | minion_id=db7":             "True",
		"compound | N@web":                           "True",
		"compound | and and":                         "False",
		"ipcidr | 192.168.44.0/24":                   "True",
		"ipcidr | 10.0.0.0/8":                        "False",
		"ipcidr | nonsense":                          "False",
		"pillar | cheese:s*":                         "True",
		"pillar | clone!url!https://* | delimiter=!": "True",
		"pillar_pcre | cheese:(swiss|american)":      "True",
		"pillar_pcre | cheese:(":                     "False",
		"grain | os:Deb*":                            "True",
		"grain | roles:web":                          "True",
		"grain_pcre | os:(Ubuntu|Debian)":            "True",
		"list | web1,db1":                            "True",
		"list | web,db1":                             "False",
		"list | [web1, db1]":                         "True",
		"list | a,b | minion_id=b":                   "True",
		"pcre | w.*":                                 "True",
		"pcre | eb1":                                 "False",
		"pcre | db\\d | db3":                         "True",
		"glob | web?":                                "True",
		"glob | db*":                                 "False",
		"glob | 12* | minion_id=123":                 "True",
		"data | spam:eg*":                            "True",
		"data | list:one":                            "True",
		"data | map:k":                               "True",
		"data | map:x":                               "False",
		"data | nothing:x":                           "False",
		"data | spam":                                "False",

		"filter_by | {foo*: Foo!, bar*: Bar!} | minion_id=bar03":                "'Bar!'",
		"filter_by | {foo*: Foo!, bar*: Bar!}":                                  "None",
		"filter_by | {foo*: Foo!, 'web*': {a: {b: 1}}} | merge={a: {c: 2}}":     "{'a': {'b': 1, 'c': 2}}",
		"filter_by | {'web*': {a: [1]}} | merge={a: [1, 2]} | merge_lists=True": "{'a': [1, 2]}",
		"filter_by | {'web*': null} | merge={a: 1}":                             "{'a': 1}",
		"filter_by | {foo*: Foo!, other: X} | default=other":                    "'X'",
		"filter_by | {'os:Debian': D} | tgt_type=grain":                         "'D'",
		"search_by | {web: [web1, db2], db: [db*, nobody], all: ['*', web*]}":   "['web', 'all', 'all']",
		"search_by | {db: [db*]}":                                               "None",
		"search_by | {db: ['L@db1,web1']} | minion_id=db1":                      "['db']",
		"ifelse | foo* | Foo! | web* | Web! | none":                             "'Web!'",
		"ifelse | foo* | Foo! | none":                                           "'none'",
		"ifelse | alone":                                                        "'alone'",
		"ifelse | True | yes it is | no":                                        "'yes it is'",
	} {
		for range 2 {
			if got := call(t, r, line); got != want {
				t.Errorf("match.%s returned %s, want %s", line, got, want)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	r := registry(t)
	lookup, err := yaml.Load([]byte("{'web*': {a: 1}, text: b}"), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		fun    string
		args   []any
		kwargs *data.Map
		want   string
	}{
		{"match.filter_by", []any{lookup}, data.NewMap("merge", "text"),
			"filter_by merge argument must be a dictionary."},
		{"match.filter_by", []any{data.NewMap("web*", "text")},
			data.NewMap("merge", data.NewMap("a", 1)),
			"Cannot update using non-dict types in dictupdate.update()"},
		{"match.filter_by", []any{lookup, "nosuch"}, nil, "'nosuch'"},
		{"match.search_by", []any{data.NewMap("k", int64(1))}, nil, "'int' object is not iterable"},
		{"match.ifelse", []any{"a", "b"}, nil, "The ifelse function must have an odd number of arguments!"},
		{"match.ifelse", nil, data.NewMap("nonsense", 1),
			"ifelse() got an unexpected keyword argument 'nonsense'"},
	} {
		if _, err := r.Invoke(t.Context(), tt.fun, tt.args, tt.kwargs); err == nil || err.Error() != tt.want {
			t.Errorf("%s%s: %v, want %s", tt.fun, data.Repr(tt.args), err, tt.want)
		}
	}
	if got := data.Repr(lookup); got != "{'web*': {'a': 1}, 'text': 'b'}" {
		t.Errorf("the dictionary was changed to %s", got)
	}
}

// TestTemplates makes calls as templates do, with keyword arguments that operators cannot use.
func TestTemplates(t *testing.T) {
	got, err := registry(t).Invoke(t.Context(),
		"match.ifelse", []any{"os:Debian", data.NewMap("a", int64(1)), nil},
		data.NewMap("tgt_type", "grain", "merge", data.NewMap("b", int64(2))))
	if err != nil || !data.Equal(got, data.NewMap("a", int64(1), "b", int64(2))) {
		t.Errorf("returned %s, %v", data.Repr(got), err)
	}
}
