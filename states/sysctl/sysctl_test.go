package sysctl

import (
	"context"
	"os"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A kernel has one parameter, k, and a configuration file.
type kernel struct {
	file, now any
	readable  bool
	fails     any
	stuck     bool
	sets      int
}

type persistArgs struct{ Name, Value, Config any }

type showArgs struct {
	ConfigFile any `default:"False"`
}

type nameArgs struct{ Name any }

func (k *kernel) plugin() loader.Plugin {
	return loader.Plugin{Name: "sysctl", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("default_config", func(context.Context, loader.NoArgs) (any, error) { return "/etc/sysctl.conf", nil }),
			loader.F("get", func(context.Context, nameArgs) (any, error) { return data.Str(k.now), nil }),
			loader.F("show", func(context.Context, showArgs) (any, error) {
				switch {
				case !k.readable:
					return nil, nil
				case k.file == nil:
					return []any{}, nil
				}
				return data.NewMap("k", k.file), nil
			}),
			loader.F("persist", func(_ context.Context, a persistArgs) (any, error) {
				k.sets++
				if k.fails != nil {
					return nil, loader.Execution("%s", k.fails)
				}
				if !k.stuck {
					k.file, k.now = a.Value, data.Str(a.Value)
				}
				return "Updated", nil
			}),
		}}, nil
	}}
}

func (k *kernel) present(t *testing.T, test bool, value, config any) *data.Map {
	t.Helper()
	modules, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{k.plugin()})
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(modules.Env(), []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := change.WithCall(t.Context(), &change.Call{Test: test, Low: &data.Map{}})
	ret, err := states.Invoke(ctx, "sysctl.present", nil,
		data.NewMap("name", "k", "value", value, "config", config))
	if err != nil {
		t.Fatal(err)
	}
	return ret.(*data.Map)
}

// testdata/results.json has the results of Salt 3006.0.
func TestPresent(t *testing.T) {
	src, err := os.ReadFile("testdata/results.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list.([]any) {
		c := v.(*data.Map)
		k := &kernel{file: c.Value("file"), now: c.Text("now"),
			readable: c.Value("readable") == true, fails: c.Value("fails")}
		test := c.Value("test") == true
		if got := k.present(t, test, c.Value("value"), c.Value("config")); !data.Equal(got, c.Value("ret")) {
			t.Errorf("%s\n got %s\nwant %s", data.Repr(c), data.Repr(got), data.Repr(c.Value("ret")))
		}
		sets := k.sets
		if test && sets > 0 {
			t.Errorf("%s: test mode set it", data.Repr(c))
		}
		if test || k.fails != nil {
			continue
		}
		for _, test := range []bool{false, true} {
			again := k.present(t, test, c.Value("value"), c.Value("config"))
			if k.sets > sets || again.Value("result") != true || data.Truth(again.Value("changes")) {
				t.Errorf("%s: the second run gives %s", data.Repr(c), data.Repr(again))
			}
		}
	}
}

// The file differs from the active value; and the kernel does not accept a value.
func TestDeviations(t *testing.T) {
	k := &kernel{file: "7", now: "1", readable: true}
	if got := k.present(t, true, int64(1), nil); got.Value("result") != nil ||
		got.Text("comment") != "Sysctl option k would be changed to 1" {
		t.Errorf("test mode: %s", data.Repr(got))
	}
	k = &kernel{now: "7", readable: true, stuck: true}
	if got := k.present(t, false, int64(1), nil); got.Value("result") != false ||
		data.Truth(got.Value("changes")) {
		t.Errorf("it does not take the value: %s", data.Repr(got))
	}
}
