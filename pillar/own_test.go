package pillar_test

import (
	"context"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
)

type ownArgs struct {
	MinionID string
	Pillar   *data.Map
	Args     []any     `args:"args"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

type ownExtraArgs struct {
	MinionID        string
	Pillar          *data.Map
	ExtraMinionData any `default:"None"`
}

// users returns external pillars as users have them: each in a file of its name, but renamed calls
// itself csv.
func users(t *testing.T) *loader.Registry {
	t.Helper()
	plugin := func(name, file string, f loader.Func) loader.Plugin {
		return loader.Plugin{Name: name, File: file, New: func(env *loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{f}}, nil
		}}
	}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{
		{Name: "about", New: func(env *loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("ext_pillar",
				func(_ context.Context, a ownArgs) (any, error) {
					return data.NewMap("id", a.MinionID, "args", a.Args, "kwargs", a.Kwargs,
						"saw", a.Pillar.Value("base_key"), "opts", env.Option("minion_id"),
						"os", env.GrainsNow().Value("os"), "merge", data.NewMap("ext", true)), nil
				})}}, nil
		}},
		plugin("raises", "raises", loader.F("ext_pillar", func(context.Context, ownArgs) (any, error) {
			return nil, loader.Exception("ValueError", "ext broke")
		})),
		plugin("list", "list", loader.F("ext_pillar", func(context.Context, ownArgs) (any, error) {
			return []any{"x"}, nil
		})),
		plugin("nothing", "nothing", loader.F("ext_pillar", func(context.Context, ownArgs) (any, error) {
			return nil, nil
		})),
		plugin("extra", "extra", loader.F("ext_pillar", func(_ context.Context, a ownExtraArgs) (any, error) {
			return data.NewMap("extra", a.ExtraMinionData), nil
		})),
		plugin("cmd_json", "cmd_json", loader.F("ext_pillar", func(context.Context, ownArgs) (any, error) {
			return data.NewMap("replaced", true), nil
		})),
		plugin("cmd_yaml", "renamed", loader.F("ext_pillar", func(context.Context, ownArgs) (any, error) {
			return data.NewMap("renamed", true), nil
		})),
		plugin("function", "function", loader.F("other", func(context.Context, ownArgs) (any, error) {
			return data.NewMap("never", true), nil
		})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestUsersExternalPillars(t *testing.T) {
	const base = "base_key: v\nmerge: {base: true}\n"
	for _, tt := range []struct {
		name   string
		option []any
		more   []any
		want   string
		log    string
	}{
		{"a list is spread", []any{data.NewMap("about", []any{"a", int64(1)})}, nil,
			"{base_key: v, merge: {base: true, ext: true}, id: web1, args: [a, 1], kwargs: {}, saw: v, opts: web1, os: Debian}", ""},
		{"a dictionary is keywords", []any{data.NewMap("about", data.NewMap("x", int64(1)))}, nil,
			"{base_key: v, merge: {base: true, ext: true}, id: web1, args: [], kwargs: {x: 1}, saw: v, opts: web1, os: Debian}", ""},
		{"null is an argument", []any{data.NewMap("about", nil)}, nil,
			"{base_key: v, merge: {base: true, ext: true}, id: web1, args: [null], kwargs: {}, saw: v, opts: web1, os: Debian}", ""},
		{"before the files", []any{data.NewMap("about", "f")}, []any{"ext_pillar_first", true},
			"{id: web1, args: [f], kwargs: {}, saw: null, opts: web1, os: Debian, merge: {ext: true, base: true}, base_key: v}", ""},
		{"values are replaced", []any{data.NewMap("about", "f")}, []any{"pillar_source_merging_strategy", "overwrite"},
			"{base_key: v, merge: {ext: true}, id: web1, args: [f], kwargs: {}, saw: v, opts: web1, os: Debian}", ""},
		{"an exception", []any{data.NewMap("raises", int64(1)), data.NewMap("nothing", int64(1)), data.NewMap("cmd_json", "x")}, nil,
			base + "replaced: true\n_errors: ['Failed to load ext_pillar raises: ext broke']",
			"error Exception caught loading ext_pillar 'raises':\nTraceback (most recent call last):\nValueError: ext broke\n\n" +
				"fatal Pillar render error: Failed to load ext_pillar raises: ext broke"},
		{"no dictionary", []any{data.NewMap("list", int64(1))}, nil,
			base + "_errors: ['Failed to load ext_pillar list: Cannot update using non-dict types in dictupdate.update()']",
			"fatal Pillar render error: Failed to load ext_pillar list: Cannot update using non-dict types in dictupdate.update()"},
		{"unknown", []any{data.NewMap("nosuch", int64(1)), data.NewMap("function", int64(1))}, nil, base,
			"fatal Specified ext_pillar interface nosuch is unavailable\nfatal Specified ext_pillar interface function is unavailable"},
		{"a listed one comes before one that calls itself so", []any{data.NewMap("cmd_yaml", "echo 'listed: true'")}, nil,
			base + "listed: true", ""},
		{"data of the minion", []any{data.NewMap("extra", []any{})}, nil, base + "extra: {x: 1}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log, hook := logtest.NewNullLogger()
			opts := options(write(t, t.TempDir(), data.NewMap("base",
				data.NewMap("top.sls", topOfAll, "p.sls", base))), data.NewMap("ext_pillar", tt.option))
			opts.Update(data.NewMap(tt.more...))
			c := compiler(t, pillar.Options{Opts: opts, Engine: withCommands, Sources: pillar.Sources(),
				Own: users(t), Log: log})
			for range 2 {
				same(t, compile(t, c, pillar.Request{ID: "web1", Grains: baseGrains(),
					ExtraMinionData: data.NewMap("x", int64(1))}), tt.want)
			}
			var lines []string
			entries := hook.AllEntries()
			for _, e := range entries[:len(entries)/2] {
				if e.Level.String() != "debug" {
					lines = append(lines, e.Level.String()+" "+e.Message)
				}
			}
			if got := strings.Join(lines, "\n"); got != tt.log {
				t.Errorf("log\n%s\nwant\n%s", got, tt.log)
			}
		})
	}
}
