package beacon_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	engine "github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/beacons"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/beacon"
	"github.com/brineproject/brine/yaml"
)

// tick is a beacon.
type tick struct{}

func (tick) Validate(any) (bool, string)                      { return true, engine.Valid }
func (tick) Beacon(context.Context, any) ([]*data.Map, error) { return nil, nil }

// A bus is the bus of a minion on which its beacons answer.
type bus struct {
	*engine.Engine
	answers map[string]*data.Map
}

func (b *bus) Fire(ctx context.Context, _ string, body *data.Map) error {
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

// newMinion returns the states of a minion with these beacons.
func newMinion(t *testing.T, config, pillar *data.Map, dir string) *loader.Registry {
	t.Helper()
	plain := func(*loader.Env) (engine.Beacon, error) { return tick{}, nil }
	functions, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{
		engine.Plugin("tick", "", plain), engine.Plugin("closing", "", plain)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bus{engine.New(engine.Options{ID: "web1", Functions: functions, Config: config, Pillar: pillar}),
		map[string]*data.Map{}}
	modules, err := loader.NewRegistry(&loader.Env{Host: loader.Host{Bus: b},
		Opts: data.NewMap("conf_file", filepath.Join(dir, "minion"), "default_include", "minion.d/*.conf")},
		[]loader.Plugin{beacons.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(modules.Env(), []loader.Plugin{beacon.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func mapOf(v any) *data.Map { m, _ := v.(*data.Map); return m }

// TestStates repeats states of Salt: in test mode, for real, and again. Where Salt raises an
// exception in test mode, the comment is that of the module.
func TestStates(t *testing.T) {
	src, err := os.ReadFile("testdata/salt.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range data.ListOf(v) {
		dir := t.TempDir()
		states := newMinion(t, mapOf(mapOf(c).Value("config")), mapOf(mapOf(c).Value("pillar")), dir)
		file := filepath.Join(dir, "minion.d", "beacons.conf")
		for i, s := range data.ListOf(mapOf(c).Value("steps")) {
			s := mapOf(s)
			call := s.Text("fun") + data.Repr(s.Value("args")) + data.Repr(s.Value("kwargs"))
			before, _ := os.ReadFile(file)
			test := data.Truth(s.Value("test"))
			ctx := change.WithCall(t.Context(), &change.Call{Test: test, Low: &data.Map{}})
			got, err := states.Invoke(ctx, s.Text("fun"), data.ListOf(s.Value("args")), mapOf(s.Value("kwargs")))
			want := s.Value("return")
			if want == "KeyError: 'changes'" {
				comment := "Beacon: new would be modified."
				if mapOf(s.Value("kwargs")).Has("save") {
					comment += "\nBeacon new would be saved"
				}
				want = change.New("new", true, nil, comment)
			}
			if err != nil || !data.Equal(got, want) {
				t.Errorf("%d: %s =\n      %s %v\nSalt: %s", i, call, data.Repr(got), err, data.Repr(want))
			}
			saved, _ := os.ReadFile(file)
			if data.Str(s.Value("saved")) != string(saved) && s.Value("saved") != nil {
				t.Errorf("%d: %s saved %q, Salt %q", i, call, saved, data.Str(s.Value("saved")))
			}
			if test && string(before) != string(saved) {
				t.Errorf("%d: %s saved in test mode", i, call)
			}
			left, err := states.Env().Functions.Invoke(ctx, "beacons.list", []any{false, false}, nil)
			if err != nil || !data.Equal(left, s.Value("left")) {
				t.Errorf("%d: after %s: %s\nSalt: %s", i, call, data.Repr(left), data.Repr(s.Value("left")))
			}
		}
	}
}
