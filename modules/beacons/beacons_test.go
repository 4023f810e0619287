package beacons

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	engine "github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// tick is a beacon that wants a list.
type tick struct{}

func (tick) Validate(config any) (bool, string) {
	if _, ok := config.([]any); !ok {
		return false, "Configuration for tick beacon must be a list."
	}
	return true, engine.Valid
}

func (tick) Beacon(context.Context, any) ([]*data.Map, error) { return nil, nil }

// A bus is the bus of a minion on which its beacons answer.
type bus struct {
	t *testing.T
	*engine.Engine
	answers map[string]*data.Map
}

func (b *bus) Fire(ctx context.Context, tag string, body *data.Map) error {
	if tag != "manage_beacons" {
		b.t.Errorf("event %s", tag)
	}
	answer, reply, err := b.Manage(ctx, body)
	b.answers[answer] = reply
	return err
}

func (b *bus) Await(ctx context.Context, tag string, act func() error) (*data.Map, error) {
	clear(b.answers)
	if err := act(); err != nil {
		return nil, err
	}
	for answer, body := range b.answers {
		if strings.HasPrefix(answer, tag) {
			return body, nil
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// newMinion returns the module in a minion with these beacons, and the directory of its
// configuration.
func newMinion(t *testing.T, config, pillar *data.Map) (*loader.Registry, string) {
	t.Helper()
	functions, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{
		engine.Plugin("tick", "", func(*loader.Env) (engine.Beacon, error) { return tick{}, nil }),
		engine.Plugin("closing", "", func(*loader.Env) (engine.Beacon, error) { return tick{}, nil }),
		{Name: "bare", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("beacon",
				func(context.Context, loader.NoArgs) (any, error) { return nil, nil })}}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &bus{t, engine.New(engine.Options{ID: "web1", Functions: functions, Config: config, Pillar: pillar}),
		map[string]*data.Map{}}
	dir := t.TempDir()
	r, err := loader.NewRegistry(&loader.Env{Host: loader.Host{Bus: b},
		Opts: data.NewMap("conf_file", filepath.Join(dir, "minion"), "default_include", "minion.d/*.conf")},
		[]loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func mapOf(v any) *data.Map { m, _ := v.(*data.Map); return m }

// TestCalls repeats calls of Salt's module, most of them twice, and compares results, the saved file
// and the beacons that are left.
func TestCalls(t *testing.T) {
	src, err := os.ReadFile("testdata/salt.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range data.ListOf(v) {
		r, dir := newMinion(t, mapOf(mapOf(c).Value("config")), mapOf(mapOf(c).Value("pillar")))
		for i, s := range data.ListOf(mapOf(c).Value("steps")) {
			s := mapOf(s)
			call := s.Text("fun") + data.Repr(s.Value("args")) + data.Repr(s.Value("kwargs"))
			got, err := r.Invoke(t.Context(), s.Text("fun"), data.ListOf(s.Value("args")), mapOf(s.Value("kwargs")))
			text := strings.ReplaceAll(data.Repr(got), dir, "CONF")
			if err != nil || text != data.Repr(s.Value("return")) {
				t.Errorf("%d: %s =\n      %s %v\nSalt: %s", i, call, text, err, data.Repr(s.Value("return")))
			}
			saved, err := os.ReadFile(filepath.Join(dir, "minion.d", "beacons.conf"))
			if want := s.Value("saved"); want == nil != (err != nil) || err == nil && want != string(saved) {
				t.Errorf("%d: %s saved %q, Salt %q", i, call, saved, data.Str(want))
			}
			left, err := r.Invoke(t.Context(), "beacons.list", []any{false, false}, nil)
			if err != nil || !data.Equal(left, s.Value("left")) {
				t.Errorf("%d: after %s: %s\nSalt: %s", i, call, data.Repr(left), data.Repr(s.Value("left")))
			}
		}
	}
}

func TestInvalidConfigurations(t *testing.T) {
	r, _ := newMinion(t, data.NewMap("tick", []any{}), nil)
	for fun, want := range map[string]string{
		"modify": "Beacon tick configuration invalid, not modifying.\nConfiguration for tick beacon must be a list.",
		"add":    "Beacon tick is already configured."} {
		got, err := r.Invoke(t.Context(), "beacons."+fun, []any{"tick", data.NewMap("a", int64(1))}, nil)
		if err != nil || mapOf(got).Text("comment") != want {
			t.Errorf("%s: %s %v", fun, data.Repr(got), err)
		}
	}
	r, _ = newMinion(t, nil, nil)
	got, err := r.Invoke(t.Context(), "beacons.add", []any{"tick", data.NewMap("a", int64(1))}, nil)
	if want := "Beacon tick configuration invalid, not adding.\nConfiguration for tick beacon must be a list."; err != nil ||
		mapOf(got).Text("comment") != want {
		t.Errorf("add: %s %v", data.Repr(got), err)
	}
}

func TestSaveInTestMode(t *testing.T) {
	r, dir := newMinion(t, data.NewMap("tick", []any{}), nil)
	got, err := r.Invoke(t.Context(), "beacons.save", nil, data.NewMap("test", true))
	if _, missing := os.Stat(filepath.Join(dir, "minion.d")); err != nil || missing == nil {
		t.Errorf("save: %s %v", data.Repr(got), err)
	}
}

// TestNoMinion calls each function where no minion answers.
func TestNoMinion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r, err := loader.NewRegistry(&loader.Env{Host: loader.Host{Bus: silent{}},
			Opts: data.NewMap("conf_file", filepath.Join(dir, "minion"))}, []loader.Plugin{Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		for call, want := range map[string]string{
			"list":           "beacons: null\n",
			"list_available": "{'beacons': {}}",
			"add a []":       "{'comment': 'Failed to add beacon a.', 'result': False}",
			"modify a []":    "{'comment': 'Event module not available. Beacon modify failed.', 'result': False}",
			"delete a": "{'comment': 'Did not receive the beacon delete complete event before the timeout of 60s', " +
				"'result': False}",
			"save": "{'comment': 'Event module not available. Beacon list failed.', 'result': False}",
			"enable": "{'comment': 'Did not receive the beacon enabled complete event before the timeout of 60s', " +
				"'result': False}",
			"disable_beacon a": "{'comment': 'Beacon a is not currently configured.', 'result': False}",
			"reset timeout=5":  "{'comment': 'Did not receive the beacon reset event before the timeout of 5s', 'result': False}",
		} {
			words := strings.Fields(call)
			res := r.Call(t.Context(), "beacons."+words[0], loader.WireArgs(words[1:]), loader.CallOptions{})
			if got := data.Str(res.Value); got != want {
				t.Errorf("%s = %q, want %q", call, got, want)
			}
		}
	})
}

// silent is the bus of a minion that does not answer.
type silent struct{}

func (silent) Fire(context.Context, string, *data.Map) error { return nil }

func (silent) Await(ctx context.Context, _ string, act func() error) (*data.Map, error) {
	if err := act(); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}
