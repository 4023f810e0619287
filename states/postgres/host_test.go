package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/postgres"
)

// A host replaces the module postgres. It cannot make anything that is named bad.
type host struct {
	clusters, dirs, languages *data.Map
	stuck                     bool // clusters cannot be removed, languages neither
}

type hostArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

func (h *host) plugin() loader.Plugin {
	made := func(all *data.Map) func(context.Context, hostArgs) (any, error) {
		return func(_ context.Context, a hostArgs) (any, error) {
			if name := data.Str(a.Args[0]); name != "bad" && name != "/bad" {
				all.Set(name, name)
				return true, nil
			}
			return false, nil
		}
	}
	has := func(all *data.Map) func(context.Context, hostArgs) (any, error) {
		return func(_ context.Context, a hostArgs) (any, error) { return all.Has(a.Args[0]), nil }
	}
	return loader.Plugin{Name: "postgres", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("user_exists", has(h.dirs)),
			loader.F("cluster_exists", has(h.clusters)),
			loader.F("cluster_list", func(context.Context, hostArgs) (any, error) {
				return h.clusters.Clone(), nil
			}),
			loader.F("cluster_create", h.create),
			loader.F("cluster_remove", h.remove),
			loader.F("datadir_exists", has(h.dirs)),
			loader.F("datadir_init", made(h.dirs)),
			loader.F("language_exists", has(h.languages)),
			loader.F("language_create", made(h.languages)),
			loader.F("language_remove", func(_ context.Context, a hostArgs) (any, error) {
				return !h.stuck && len(a.Args) == 2 && h.languages.Delete(a.Args[0]), nil
			}),
		}}, nil
	}}
}

func (h *host) create(_ context.Context, a hostArgs) (any, error) {
	if a.Kwargs.Value("name") == "bad" {
		return false, nil
	}
	about := data.NewMap("port", int64(5432), "datadir", "/d")
	for _, k := range []string{"port", "datadir"} {
		if v := a.Kwargs.Value(k); v != nil {
			about.Set(k, v)
		}
	}
	h.clusters.Set(data.Str(a.Kwargs.Value("version"))+"/"+data.Str(a.Kwargs.Value("name")), about)
	return data.NewMap("retcode", int64(0)), nil
}

func (h *host) remove(_ context.Context, a hostArgs) (any, error) {
	if h.stuck {
		return data.NewMap("retcode", int64(1)), nil
	}
	h.clusters.Delete(data.Str(a.Args[0]) + "/" + data.Str(a.Args[1]))
	return data.NewMap("retcode", int64(0), "changes", "x"), nil
}

// hosted returns the states over a replaced module.
func hosted(t *testing.T) (*runs.Shelf, *host) {
	t.Helper()
	h := &host{clusters: data.NewMap(), dirs: data.NewMap(), languages: data.NewMap()}
	return runs.New(t, &loader.Env{Opts: data.NewMap()}, []loader.Plugin{h.plugin()},
		postgres.Cluster(), postgres.Initdb(), postgres.Language()), h
}

// TestHostRuns compares with the results of Salt 3006.18 over a module that was replaced in the same
// way: in test mode, in the real run, in a second one and in test mode again.
func TestHostRuns(t *testing.T) {
	src, err := os.ReadFile("testdata/host.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := hosted(t)
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("state", "kwargs", "steps")
		kwargs := c.Object("kwargs").Clone()
		name := kwargs.Text("name")
		kwargs.Delete("name")
		for i, v := range c.List("steps") {
			step := v.(*data.Map)
			got := s.Run(t, step.Value("test") == true, c.Text("state"), name, kwargs)
			if want := step.Value("return"); !data.Equal(got, want) {
				t.Errorf("%s %s, step %d\n got %s\nwant %s", c.Text("state"), data.Repr(kwargs), i,
					data.Repr(got), data.Repr(want))
			}
		}
	}
}

// TestStuck checks that what cannot be removed is a failure.
func TestStuck(t *testing.T) {
	s, h := hosted(t)
	h.stuck = true
	h.clusters.Set("15/main", data.NewMap("port", int64(1)))
	h.languages.Set("plperl", true)
	for fun, kwargs := range map[string]*data.Map{
		"postgres_cluster.absent":  data.NewMap("version", "15"),
		"postgres_language.absent": data.NewMap("maintenance_db", "d"),
	} {
		name := "main"
		if fun == "postgres_language.absent" {
			name = "plperl"
		}
		got := s.Run(t, false, fun, name, kwargs)
		if got.Value("result") != false || data.Truth(got.Value("changes")) {
			t.Errorf("%s: %s", fun, data.Repr(got))
		}
	}
}
