package mongodb_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/mongodb"
	"github.com/brineproject/brine/render"
)

const password = "mark'er/1"

// registry returns the module over testdata/bin/mongosh, and the directory of its data.
func registry(t *testing.T, opts ...any) (*loader.Registry, string) {
	t.Helper()
	need.Program(t, "node")
	need.Time(t, "each call starts node")
	dir := runs.Programs(t)
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(append([]any{"id", "web1"}, opts...)...)},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(), mongodb.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// The scripts do in a shell of JavaScript what the functions promise, and no password is an argument.
func TestCalls(t *testing.T) {
	r, dir := registry(t, "mongodb.host", "db1", "mongodb.port", int64(27017), "mongodb.user", "admin",
		"mongodb.password", password)
	m := data.NewMap
	in := m("database", "shop")
	for _, c := range []struct {
		fun    string
		args   []any
		kwargs *data.Map
		want   string
	}{
		{"version", nil, nil, "'7.0.5'"}, {"db_list", nil, nil, "['admin']"}, {"db_exists", []any{"shop"}, nil,
			"False"},
		{"collection_create", []any{"c"}, in, "True"}, {"collection_create", []any{"c"}, in,
			"'Collection already exists'"},
		{"collections_list", nil, in, "['c']"}, {"db_exists", []any{"shop"}, nil, "True"},
		{"insert", []any{`[{"a": 1, "b": "it's \"x\"\u2028"}, {"a": 2}]`, "c"}, in, "True"},
		{"insert", []any{[]any{m("a", int64(2))}, "c"}, in, "True"}, {"insert", []any{m("a", int64(2)), "c"}, in,
			"'documents must be"},
		{"insert", []any{"nonsense", "c"}, in, "'"},
		{"find", []any{"c", `{"a": 1}`}, in, `[{'a': 1, 'b': 'it\'s "x"\u2028'}]`}, {"find", []any{"c"}, in,
			"[{'a': 1, "},
		{"find", []any{"c", []any{m("a", int64(2)), m("a", int64(3))}}, in, "[{'a': 2}, {'a': 2}]"},
		{"update_one", []any{`{"a": 1} {"b": 5}`, "c"}, in, "'1 objects updated'"}, {"find", []any{"c",
			`{"b": 5}`}, in, "[{'a': 1, 'b': 5}]"},
		{"update_one", []any{`{"a": 2} {"b": 5}`, "c"}, in, "'Too many results."}, {"update_one",
			[]any{`{"a": 9} {"b": 5}`, "c"}, in, "'Did not find any"},
		{"update_one", []any{`{"a": 9}`, "c"}, in, `'Your request does not contain`},
		{"remove", []any{"c", `{"a": 2}`}, m("database", "shop", "w", int64(5)), "'2 objects removed'"},
		{"remove", []any{"c", `[{"a": 2}]`}, in, "'0 objects removed'"},
		{"user_create", []any{"bob", "marker"}, m("database", "shop", "roles", []any{"read"}), "True"},
		{"user_create", []any{"bob", "marker"}, in, "False"},
		{"user_list", nil, in, "[{'user': 'bob', 'roles': [{'role': 'read', 'db': 'shop'}]}]"},
		{"user_find", []any{"bob"}, in, "[{'user': 'bob', 'db': 'shop', "}, {"user_find", []any{"eve"}, in, "[]"},
		{"user_exists", []any{"bob"}, in, "True"}, {"user_exists", []any{"eve"}, in, "False"},
		{"user_roles_exists", []any{"bob", `["read"]`, "shop"}, nil, "True"}, {"user_roles_exists", []any{"bob",
			[]any{"readWrite"}, "shop"}, nil, "False"},
		{"user_grant_roles", []any{"bob", `["readWrite"]`, "shop"}, nil, "True"}, {"user_roles_exists",
			[]any{"bob", []any{"readWrite"}, "shop"}, nil, "True"},
		{"user_revoke_roles", []any{"bob", []any{"read"}, "shop"}, nil, "True"}, {"user_roles_exists",
			[]any{"bob", []any{"read"}, "shop"}, nil, "False"},
		{"user_grant_roles", []any{"eve", []any{"read"}, "shop"}, nil, "'User not found'"}, {"user_grant_roles",
			[]any{"bob", "nonsense", "shop"}, nil, "'Roles provided in wrong format'"},
		{"user_remove", []any{"bob"}, in, "True"}, {"user_remove", []any{"bob"}, in, "False"},
		{"collection_drop", []any{"c"}, in, "True"}, {"db_remove", []any{"shop"}, nil, "True"}, {"db_list", nil,
			nil, "['admin']"},
	} {
		got, err := r.Invoke(t.Context(), "mongodb."+c.fun, c.args, c.kwargs)
		if text := data.Repr(got); err != nil || !strings.HasPrefix(text, c.want) {
			t.Errorf("%s %s gives %s, %v, want %s", c.fun, data.Repr(c.args), text, err, c.want)
		}
	}
	argv, err := os.ReadFile(filepath.Join(dir, "argv"))
	if err != nil || strings.ReplaceAll(string(argv), "--quiet --norc --nodb /dev/stdin\n", "") != "" {
		t.Errorf("the arguments are %q, %v", argv, err)
	}
}

// Errors are results, as in Salt, and hide the password.
func TestErrors(t *testing.T) {
	r, _ := registry(t)
	for port, want := range map[any]string{int64(1): "connect ECONNREFUSED mongodb://admin:(hidden)@localhost:1/", int64(2): "Authentication failed."} {
		secret := password
		if port == int64(2) {
			secret = "wrong"
		}
		kwargs := data.NewMap("user", "admin", "password", secret, "port", port)
		got, err := r.Invoke(t.Context(), "mongodb.db_list", nil, kwargs)
		if text := data.Str(got); err != nil || !strings.HasPrefix(text, want) || strings.Contains(text, "er/1") {
			t.Errorf("db_list gives %s, %v", text, err)
		}
		if got, err := r.Invoke(t.Context(), "mongodb.user_exists", []any{"x"}, kwargs); err == nil ||
			strings.Contains(err.Error(), "er/1") {
			t.Errorf("user_exists gives %v, %v", got, err)
		}
	}
	t.Setenv("FAKE", "/nonexistent")
	if got, err := r.Invoke(t.Context(), "mongodb.db_list", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "printed no result") {
		t.Errorf("a program that fails gives %v, %v", got, err)
	}
	t.Setenv("PATH", t.TempDir())
	if none, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{mongodb.Plugin()}); err != nil ||
		none.Has("mongodb.db_list") {
		t.Errorf("the module is there without a program: %v", err)
	}
}
