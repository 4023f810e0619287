package ret

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
)

// place is a returner that returns what a test stored in it.
type place struct{}

func (place) Return(context.Context, *data.Map) error { return nil }
func (place) Minions(context.Context) ([]string, error) {
	return []string{"web1", "web2"}, nil
}
func (place) JID(_ context.Context, jid string) (*data.Map, error) {
	return data.NewMap("web1", "of "+jid), nil
}
func (place) Fun(_ context.Context, fun string) (*data.Map, error) {
	return data.NewMap("web1", "last "+fun), nil
}
func (place) JIDs(context.Context) (*data.Map, error) {
	return data.NewMap("20261122010203040506",
		returners.Instance("20261122010203040506", data.NewMap("fun", "test.ping"))), nil
}

// mute is a returner without lookup functions.
type mute struct{}

func (mute) Return(context.Context, *data.Map) error { return nil }

func TestRet(t *testing.T) {
	plugin := func(name string, r returners.Returner) loader.Plugin {
		return loader.Plugin{Name: name,
			New: func(*loader.Env) (*loader.Module, error) { return returners.Module("", r), nil }}
	}
	returners, err := loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{plugin("place", place{}), plugin("mute", mute{})})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := loader.NewRegistry(&loader.Env{Registries: map[string]*loader.Registry{"returners": returners}}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		fun  string
		args []any
		want string
	}{
		{"get_jid", []any{"place", "20261122010203040506"}, "{'web1': 'of 20261122010203040506'}"},
		{"get_jid", []any{"place", int64(2026)}, "{'web1': 'of 2026'}"},
		{"get_fun", []any{"place", "test.ping"}, "{'web1': 'last test.ping'}"},
		{"get_jids", []any{"place"}, "{'20261122010203040506': {'Function': 'test.ping', 'Arguments': [], 'Target': 'unknown-target', 'Target-type': 'list', " +
			"'User': 'root', 'StartTime': '2026, Nov 22 01:02:03.040506'}}"},
		{"get_minions", []any{"place"}, "['web1', 'web2']"},
		{"get_minions", []any{"mute"},
			"error: 'mute.get_minions' is not available: the returner does not exist or does not support lookups"},
		{"get_jid", []any{"nix", "1"},
			"error: 'nix.get_jid' is not available: the returner does not exist or does not support lookups"},
	} {
		for range 2 {
			v, err := registry.Invoke(t.Context(), "ret."+tt.fun, tt.args, nil)
			got := data.Repr(v)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != tt.want {
				t.Errorf("ret.%s %v: %s, want %s", tt.fun, tt.args, got, tt.want)
			}
		}
	}
}
