package sdb_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/runners/sdb"
)

func registry(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	functions, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: opts, Registries: map[string]*loader.Registry{"modules": functions}}
	r, err := loader.NewRegistry(env, []loader.Plugin{sdb.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestValues reads and sets values through the profiles of the master's options, as Salt 3006.18
// does.
func TestValues(t *testing.T) {
	t.Setenv("BRINE_SDB_RUNNER", "7")
	if err := os.Unsetenv("BRINE_SDB_RUNNER_NEW"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Unsetenv("BRINE_SDB_RUNNER_NEW") })
	file := filepath.Join(t.TempDir(), "v.yaml")
	if err := os.WriteFile(file, []byte("a:\n  b: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := registry(t, data.NewMap("envs", data.NewMap("driver", "env"),
		"ymls", data.NewMap("driver", "yaml", "files", []any{file}),
		"other", data.NewMap("driver", "nosuch")))
	for _, c := range []struct {
		fun  string
		args []any
		want any
		err  string
	}{
		{"sdb.get", []any{"sdb://envs/BRINE_SDB_RUNNER"}, "7", ""},
		{"sdb.get", []any{"sdb://ymls/a:b"}, int64(7), ""},
		{"sdb.get", []any{"plain"}, "plain", ""},
		{"sdb.get", []any{"sdb://none/x"}, "sdb://none/x", ""},
		{"sdb.set", []any{"sdb://envs/BRINE_SDB_RUNNER_NEW", "x"}, "x", ""},
		{"sdb.get", []any{"sdb://envs/BRINE_SDB_RUNNER_NEW"}, "x", ""},
		{"sdb.set", []any{"plain", "x"}, false, ""},
		{"sdb.delete", []any{"plain"}, false, ""},
		{"sdb.get_or_set_hash", []any{"sdb://envs/BRINE_SDB_RUNNER"}, "7", ""},
		{"sdb.get_or_set_hash", []any{"plain"}, false, ""},
		{"sdb.get", []any{"sdb://other/x"}, nil,
			"The sdb driver 'nosuch' does not exist. Available drivers: env, yaml"},
		{"sdb.delete", []any{"sdb://envs/x"}, nil, "'env.delete'"},
	} {
		v, err := r.Invoke(t.Context(), c.fun, c.args, nil)
		if c.err == "" && (err != nil || !data.Equal(v, c.want)) {
			t.Errorf("%s %s = %s, %v, want %s", c.fun, data.Repr(c.args), data.Repr(v), err,
				data.Repr(c.want))
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s %s = %s, %v, want %s", c.fun, data.Repr(c.args), data.Repr(v), err, c.err)
		}
	}
}
