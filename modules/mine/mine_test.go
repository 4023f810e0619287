package mine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// A host simulates the minion: its masters, its datastore and the other modules.
type host struct {
	loader.Masters // everything else

	asked []string
	reply any
	fails error
	kept  *data.Map // the datastore
	mined *data.Map // mine_functions of options and pillar
}

func (h *host) Request(_ context.Context, load *data.Map) (any, error) {
	h.asked = append(h.asked, data.Repr(load))
	return h.reply, h.fails
}

func (h *host) RequestAll(ctx context.Context, load *data.Map) error {
	_, err := h.Request(ctx, load)
	return err
}

type anyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// others returns the modules that mine calls.
func (h *host) others() []loader.Plugin {
	plugin := func(name string, funcs ...loader.Func) loader.Plugin {
		return loader.Plugin{Name: name,
			New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: funcs}, nil }}
	}
	return []loader.Plugin{
		plugin("data",
			loader.F("get", func(_ context.Context, a anyArgs) (any, error) { return h.kept.Value(a.Args[0]), nil }),
			loader.F("update", func(_ context.Context, a anyArgs) (any, error) {
				h.kept.Set(a.Args[0], a.Args[1])
				return true, nil
			})),
		plugin("match", loader.F("glob",
			func(_ context.Context, a anyArgs) (any, error) {
				return loader.Glob(data.Str(a.Args[0]), "web1"), nil
			})),
		plugin("config", loader.F("merge", func(context.Context, anyArgs) (any, error) {
			if h.mined == nil {
				return data.NewMap(), nil
			}
			return h.mined, nil
		})),
		plugin("test",
			loader.F("ping", func(context.Context, loader.NoArgs) (any, error) { return true, nil }),
			loader.F("arg", func(_ context.Context, a anyArgs) (any, error) {
				return data.Repr(a.Args) + data.Repr(a.Kwargs), nil
			}),
			loader.F("fail", func(context.Context, loader.NoArgs) (any, error) { return nil, errors.New("broken") })),
	}
}

func (h *host) registry(t *testing.T, local bool) *loader.Registry {
	t.Helper()
	opts := data.NewMap("id", "web1")
	if local {
		opts.Set("file_client", "local")
	}
	r, err := loader.NewRegistry(&loader.Env{Opts: opts, Host: loader.Host{Masters: h}},
		append(h.others(), Plugin()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call runs a function with arguments in command-line syntax, in a job whose fields are visible to
// functions with keyword arguments.
func call(t *testing.T, r *loader.Registry, line string) string {
	t.Helper()
	words := strings.Split(line, " | ")
	res := r.Call(t.Context(), "mine."+words[0], loader.WireArgs(words[1:]),
		loader.CallOptions{Pub: data.NewMap("jid", "1", "fun", "mine.send")})
	return data.Repr(res.Value)
}

const functions = `
test.ping: []
alias: [{mine_function: test.arg}, a, {k: v}]
limited: {mine_function: test.arg, x: 1, allow_tgt: 'G@a:b', allow_tgt_type: compound}
test.fail: []
no.such: []
broken_alias: {mine_function: no.such}
`

func mined(t *testing.T, text string) *data.Map {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v.(*data.Map)
}

func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		line  string
		mined string
		want  string // the expected request to the master
		value string
	}{
		{"update", functions, "{'cmd': '_mine', 'data': {'test.ping': True, 'alias': \"['a']{'k': 'v'}\", 'limited': {'__data__': \"[]{'x': 1}\", '__saltmine_acl__': 1, " +
			"'allow_tgt': 'G@a:b', 'allow_tgt_type': 'compound'}}, 'id': 'web1', 'clear': False}", "True"},
		{"update | clear=True", "test.ping: []",
			"{'cmd': '_mine', 'data': {'test.ping': True}, 'id': 'web1', 'clear': True}", "True"},
		{"update | mine_functions={test.arg: [b]}", functions,
			"{'cmd': '_mine', 'data': {'test.arg': \"['b']{}\"}, 'id': 'web1', 'clear': False}", "True"},
		{"update | mine_functions=[test.ping]", "",
			"{'cmd': '_mine', 'data': {'test.ping': True}, 'id': 'web1', 'clear': False}", "True"},
		{"update | mine_functions=7", functions, "", "None"},
		{"update", "", "", "None"},
		{"send | test.ping", "", "{'cmd': '_mine', 'data': {'test.ping': True}, 'id': 'web1', 'clear': False}", "True"},
		{"send | mine | mine_function=test.arg | allow_tgt=db* | z=1", "",
			"{'cmd': '_mine', 'data': {'mine': {'__data__': \"[]{'z': 1}\", '__saltmine_acl__': 1, 'allow_tgt': 'db*'}}, 'id': 'web1', 'clear': False}", "True"},
		{"send | test.arg | a | 2", "",
			"{'cmd': '_mine', 'data': {'test.arg': \"['a', 2]{}\"}, 'id': 'web1', 'clear': False}", "True"},
		{"send | test.fail", "", "", "False"},
		{"send | no.such", "", "", "False"},
		{"delete | test.ping", "", "{'cmd': '_mine_delete', 'id': 'web1', 'fun': 'test.ping'}", "True"},
		{"flush", "", "{'cmd': '_mine_flush', 'id': 'web1'}", "True"},
		{"get | '*' | test.ping", "", "{'cmd': '_mine_get', 'id': 'web1', 'tgt': '*', 'fun': 'test.ping', 'tgt_type': 'glob'}", "{'web1': 1, 'db1': 2}"},
		{"get | a:b | [a, b] | grain", "",
			"{'cmd': '_mine_get', 'id': 'web1', 'tgt': 'a:b', 'fun': ['a', 'b'], 'tgt_type': 'grain'}", "{'web1': 1, 'db1': 2}"},
		{"get | '*' | test.ping | exclude_minion=True", "",
			"{'cmd': '_mine_get', 'id': 'web1', 'tgt': '*', 'fun': 'test.ping', 'tgt_type': 'glob'}", "{'db1': 2}"},
		{"valid", functions, "", "{'test.ping': [], 'alias': {'test.arg': ['a', {'k': 'v'}]}, 'limited': {'test.arg': [{'x': 1}]}, 'test.fail': []}"},
		{"valid", "", "", "None"},
	} {
		h := &host{kept: data.NewMap()}
		if tt.mined != "" {
			h.mined = mined(t, tt.mined)
		}
		before := data.Repr(h.mined)
		r := h.registry(t, false)
		for range 2 {
			h.asked, h.reply = nil, data.NewMap("web1", int64(1), "db1", int64(2))
			if got := call(t, r, tt.line); got != tt.value {
				t.Errorf("mine.%s returned %s, want %s", tt.line, got, tt.value)
			}
			if got := strings.Join(h.asked, " "); got != tt.want {
				t.Errorf("mine.%s asks\n%s\nwant\n%s", tt.line, got, tt.want)
			}
		}
		if after := data.Repr(h.mined); after != before {
			t.Errorf("mine.%s changes mine_functions to %s", tt.line, after)
		}
	}
}

// TestMasterless calls the functions on a minion without a master.
func TestMasterless(t *testing.T) {
	h := &host{kept: data.NewMap("other", "x"), mined: mined(t, functions)}
	r := h.registry(t, true)
	for _, tt := range []struct{ line, value, kept string }{
		{"get | '*' | test.ping", "{}", "None"},
		{"delete | test.ping", "True", "None"},
		{"send | test.ping", "True", "{'test.ping': True}"},
		{"send | alias | mine_function=test.arg | a", "True", "{'test.ping': True, 'alias': \"['a']{}\"}"},
		{"get | web* | test.ping", "{'web1': True}", ""},
		{"get | db* | test.ping", "{}", ""},
		{"get | '*' | test.ping,alias", "{'test.ping': {'web1': True}, 'alias': {'web1': \"['a']{}\"}}", ""},
		{"get | '*' | [alias]", "{'alias': {'web1': \"['a']{}\"}}", ""},
		{"get | '*' | 7", "{}", ""},
		{"get | '*' | alias | nodegroup", "\"'nodegroup'\"", ""},
		{"send | alias | mine_function=test.ping | allow_tgt=db*", "True",
			"{'test.ping': True, 'alias': {'__data__': True, '__saltmine_acl__': 1, 'allow_tgt': 'db*'}}"},
		{"get | '*' | alias", "{'web1': True}", ""},
		{"delete | alias", "True", "{'test.ping': True}"},
		{"delete | alias", "True", "{'test.ping': True}"},
		{"update | mine_functions={test.arg: [b]} | clear=True", "True", "{'test.arg': \"['b']{}\"}"},
		{"update | mine_functions={test.ping: []}", "True", "{'test.arg': \"['b']{}\", 'test.ping': True}"},
		{"flush", "True", "{}"},
		{"flush", "True", "{}"},
	} {
		if got := call(t, r, tt.line); !strings.Contains(got, strings.Trim(tt.value, `"`)) {
			t.Errorf("mine.%s returned %s, want %s", tt.line, got, tt.value)
		}
		if got := data.Repr(h.kept.Value(cacheKey)); tt.kept != "" && got != tt.kept {
			t.Errorf("after mine.%s there is %s, want %s", tt.line, got, tt.kept)
		}
	}
	if len(h.asked) > 0 || h.kept.Value("other") != "x" {
		t.Errorf("asked %v, and kept %s", h.asked, data.Repr(h.kept))
	}
}

// TestFaults has masters that do not respond.
func TestFaults(t *testing.T) {
	h := &host{kept: data.NewMap(), fails: errors.New("nobody there"), mined: mined(t, "test.ping: []")}
	r := h.registry(t, false)
	for _, line := range []string{"send | test.ping", "update", "delete | a", "flush"} {
		if got := call(t, r, line); got != "False" {
			t.Errorf("mine.%s returned %s", line, got)
		}
	}
	if got := call(t, r, "get | '*' | a"); !strings.Contains(got, "nobody there") {
		t.Errorf("mine.get returned %s", got)
	}
	alone, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		append(h.others(), Plugin()))
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, alone, "get | '*' | a"); !strings.Contains(got, "no connection to a master") {
		t.Errorf("mine.get without a master returned %s", got)
	}
	if got := call(t, alone, "flush"); got != "False" {
		t.Errorf("mine.flush without a master returned %s", got)
	}
}
