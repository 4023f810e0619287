package postgres_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/postgres"
)

// debian makes the program pg_createcluster look installed.
func debian(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pg_createcluster"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

// TestClusters compares with the results of salt/modules/deb_postgres.py of Salt 3006.18, whose
// programs were replaced.
func TestClusters(t *testing.T) {
	debian(t)
	replay.Check(t, "testdata/clusters.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{postgres.Clusters()}})
}

// TestClustersRefuse checks arguments that would be options, and output that cannot be read.
func TestClustersRefuse(t *testing.T) {
	debian(t)
	listing := func(stdout string, code int) *data.Map {
		return data.NewMap("pg_lsclusters --no-header", data.NewMap("retcode", int64(code), "stdout",
			stdout, "stderr", "no access"))
	}
	for _, c := range []struct {
		fun     string
		args    []any
		kwargs  *data.Map
		answers *data.Map
	}{
		{"cluster_create", []any{"--help"}, nil, nil},
		{"cluster_create", []any{"15", "-x"}, nil, nil},
		{"cluster_create", []any{"15", ""}, nil, nil},
		{"cluster_create", []any{"15", "a\nb"}, nil, nil},
		{"cluster_create", []any{"15"}, data.NewMap("datadir", "--stop-here"), nil},
		{"cluster_remove", []any{"15", "--force"}, nil, nil},
		{"cluster_list", nil, nil, listing("", 1)},
		{"cluster_list", nil, nil, listing("15 main online\n", 0)},
		{"cluster_exists", []any{"15"}, nil, listing("15 main x online postgres /a /b\n", 0)},
	} {
		shell := &replay.Shell{Answers: c.answers}
		r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), postgres.Clusters()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Invoke(t.Context(), "postgres."+c.fun, c.args, c.kwargs)
		if ran, _ := shell.Ran.([]any); err == nil || c.answers == nil && len(ran) > 0 {
			t.Errorf("postgres.%s %v %v gives %v, ran %v", c.fun, c.args, c.kwargs, got, ran)
		}
	}
}
