package service

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A model is a simulated service with its module.
type model struct {
	*data.Map
	acts int // number of calls that change something
}

func newModel(is *data.Map) *model {
	m := &model{Map: data.NewMap("avail", true, "running", false, "enabled", false, "masked", false,
		"rmasked", false, "start", "ok", "stop", "ok", "enable", "ok", "disable", "ok", "mask",
		"ok", "without", []any{}, "offline", false)}
	m.Update(is)
	return m
}

// act performs an action. kind selects its outcome.
func (m *model) act(kind, attr string, to bool) (any, error) {
	m.acts++
	switch m.Text(kind) {
	case "error":
		return nil, loader.Execution("Job for x failed.")
	case "false":
		return false, nil
	case "ok":
		m.Set(attr, to)
	}
	return true, nil
}

type anyArgs struct {
	Name   any       `default:"None"`
	Sig    any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

type blockArgs struct {
	Name          string
	NoBlock       any `default:"False"`
	Unmask        any `default:"False"`
	UnmaskRuntime any `default:"False"`
}

type noBlockArgs struct {
	Name    string
	NoBlock any `default:"False"`
}

func (m *model) maskAttr(runtime bool) string {
	if runtime {
		return "rmasked"
	}
	return "masked"
}

// plugin is the module service of the model.
func (m *model) plugin() loader.Plugin {
	does := func(name, kind, attr string, to bool) loader.Func {
		return loader.F(name, func(context.Context, anyArgs) (any, error) { return m.act(kind, attr, to) })
	}
	funcs := []loader.Func{
		loader.F("available", func(context.Context, anyArgs) (any, error) {
			if m.Value("avail") == "error" {
				return nil, loader.Execution("Failed to get information on unit")
			}
			return m.Value("avail"), nil
		}),
		loader.F("status", func(context.Context, anyArgs) (any, error) { return m.Value("running"), nil }),
		loader.F("enabled", func(context.Context, anyArgs) (any, error) { return m.Value("enabled"), nil }),
		loader.F("disabled", func(context.Context, anyArgs) (any, error) { return m.Value("enabled") == false, nil }),
		loader.F("start", func(context.Context, blockArgs) (any, error) { return m.act("start", "running", true) }),
		loader.F("restart", func(context.Context, noBlockArgs) (any, error) { return m.act("start", "running", true) }),
		loader.F("stop", func(context.Context, noBlockArgs) (any, error) { return m.act("stop", "running", false) }),
		does("reload", "start", "running", true), does("force_reload", "start", "running", true),
		does("full_restart", "start", "running", true), does("enable", "enable", "enabled", true),
		does("disable", "disable", "enabled", false),
		loader.F("masked", func(_ context.Context, a maskArgs) (any, error) { return m.Value(m.maskAttr(a.Runtime)), nil }),
		loader.F("mask", func(_ context.Context, a maskArgs) (any, error) { return m.act("mask", m.maskAttr(a.Runtime), true) }),
		loader.F("unmask", func(_ context.Context, a maskArgs) (any, error) { return m.act("mask", m.maskAttr(a.Runtime), false) }),
		loader.F("offline", func(context.Context, loader.NoArgs) (any, error) { return m.Value("offline"), nil }),
	}
	without := m.Value("without").([]any)
	funcs = slices.DeleteFunc(funcs,
		func(f loader.Func) bool { return slices.Contains(without, any(f.Spec().Name)) })
	return loader.Plugin{Name: "service",
		New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: funcs}, nil }}
}

// states returns the states of a host with the model.
func (m *model) states(t *testing.T) *loader.Registry {
	t.Helper()
	modules, err := loader.NewRegistry(&loader.Env{Root: t.TempDir()}, []loader.Plugin{m.plugin()})
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(modules.Env(), []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// testdata/results.json has the results of Salt 3006.0 for services of all kinds, in test mode and
// not. A second run changes nothing.
func TestResults(t *testing.T) {
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
		m := newModel(c.Value("model").(*data.Map))
		before := m.Map.Clone()
		states := m.states(t)
		test := c.Value("test") == true
		ctx := change.WithCall(t.Context(), &change.Call{Test: test, Low: &data.Map{}})
		got, err := states.Invoke(ctx, c.Text("fun"), nil, c.Value("kwargs").(*data.Map))
		if err != nil || !data.Equal(got, c.Value("ret")) {
			t.Errorf("%s %s of %s, test=%v\n got %s, %v\nwant %s", c.Text("fun"),
				data.Repr(c.Value("kwargs")), data.Repr(c.Value("model")), test, data.Repr(got), err,
				data.Repr(c.Value("ret")))
			continue
		}
		if test && (m.acts > 0 || !data.Equal(m.Map, before)) {
			t.Errorf("%s %s of %s: test mode acted", c.Text("fun"), data.Repr(c.Value("kwargs")),
				data.Repr(c.Value("model")))
		}
		if test || c.Text("fun") == "service.mod_watch" || got.(*data.Map).Value("result") != true {
			continue
		}
		again, err := states.Invoke(ctx, c.Text("fun"), nil, c.Value("kwargs").(*data.Map))
		if ret, ok := again.(*data.Map); err != nil || !ok || ret.Value("result") != true ||
			data.Truth(ret.Value("changes")) {
			t.Errorf("%s %s of %s: the second run gives %s, %v", c.Text("fun"),
				data.Repr(c.Value("kwargs")), data.Repr(c.Value("model")), data.Repr(again), err)
		}
		m.idle(t, states, c)
	}
}

// idle runs a case in test mode after two real runs: that changes nothing. Only a missing service,
// and a unit that cannot be enabled, may be reported as changing.
func (m *model) idle(t *testing.T, states *loader.Registry, c *data.Map) {
	t.Helper()
	acts := m.acts
	ctx := change.WithCall(t.Context(), &change.Call{Test: true, Low: &data.Map{}})
	v, err := states.Invoke(ctx, c.Text("fun"), nil, c.Value("kwargs").(*data.Map))
	ret, _ := v.(*data.Map)
	never := m.Value("avail") == false || m.Value("enable") == "idle" || m.Value("disable") == "idle"
	if err != nil || m.acts > acts || data.Truth(ret.Value("changes")) ||
		ret.Value("result") != true && !never {
		t.Errorf("%s %s of %s: test mode in the end gives %s, %v", c.Text("fun"),
			data.Repr(c.Value("kwargs")), data.Repr(c.Value("model")), data.Repr(v), err)
	}
}

// Failing to change a mask is a failure.
func TestMaskFails(t *testing.T) {
	for fun, masked := range map[string]bool{"masked": false, "unmasked": true} {
		m := newModel(data.NewMap("mask", "idle", "masked", masked))
		got, err := m.states(t).Invoke(t.Context(), "service."+fun, []any{"x"}, nil)
		want := "Failed to " + fun[:len(fun)-2] + " service x"
		if err != nil || !data.Equal(got, change.Failed("x", want)) {
			t.Errorf("%s gives %s, %v", fun, data.Repr(got), err)
		}
	}
}

func TestWithoutModule(t *testing.T) {
	modules, err := loader.NewRegistry(&loader.Env{Grains: func() *data.Map { return data.NewMap("os", "Plan9") }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newModule(modules.Env()); err == nil ||
		err.Error() != "No service execution module loaded: check support for service management on Plan9 " {
		t.Errorf("without a module: %v", err)
	}
}
