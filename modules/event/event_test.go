package event

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A host records fired and sent events.
type host struct {
	loader.Bus // everything else
	sent       []string
	fails      bool
}

func (h *host) Fire(_ context.Context, tag string, body *data.Map) error {
	h.sent = append(h.sent, "fire "+tag+" "+data.Repr(body))
	return h.end()
}

// masters are the masters of a host.
type masters struct {
	loader.Masters // everything else
	host           *host
}

func (m masters) RequestAll(_ context.Context, load *data.Map) error {
	m.host.sent = append(m.host.sent, "request "+data.Repr(load))
	return m.host.end()
}

func (h *host) end() error {
	if h.fails {
		return errors.New("nobody there")
	}
	return nil
}

func (h *host) registry(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	all := data.NewMap("id", "web1")
	all.Update(opts)
	grains, pillar := data.NewMap("os", "Debian", "cpus", int64(2)), data.NewMap("a", "b", "secret", "x")
	r, err := loader.NewRegistry(&loader.Env{Opts: all, Grains: func() *data.Map { return grains },
		Pillar: func() *data.Map { return pillar },
		Host:   loader.Host{Bus: h, Masters: masters{host: h}}}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) {
	t.Setenv("BRINE_TEST_EVENT", "yes")
	local, call := data.NewMap("file_client", "local"), data.NewMap("__cli", "salt-call")
	forwarded := func(body string) string {
		return "fire fire_master {'data': " + body + ", 'tag': 'my/tag', 'events': None, 'pretag': None}"
	}
	for _, tt := range []struct {
		line string
		opts *data.Map
		want string // the expected log text; nothing if False is returned
	}{
		{"fire | {a: b} | my/tag", nil, "fire my/tag {'a': 'b'}"},
		{"fire | text | my/tag", nil, ""},
		{"fire | {a: b} | ''", nil, ""},
		{"fire_master | {a: b} | my/tag", nil, forwarded("{'a': 'b'}")},
		{"fire_master | text | my/tag", nil, forwarded("'text'")},
		{"fire_master | {a: b} | my/tag", local, ""},
		{"fire_master | {a: b} | my/tag", data.NewMap("local", true), ""},
		{"fire_master | {a: b} | my/tag", data.NewMap("local", true, "use_master_when_local", true),
			forwarded("{'a': 'b'}")},
		{"fire_master | {a: b} | my/tag", call,
			"request {'cmd': '_minion_event', 'id': 'web1', 'tag': 'my/tag', 'data': {'a': 'b'}}"},
		{"fire_master | {a: b} | my/tag | preload={pretag: x}", nil,
			"request {'cmd': '_minion_event', 'id': 'web1', 'tag': 'my/tag', 'data': {'a': 'b'}, 'pretag': 'x'}"},
		{"send | my/tag", nil, forwarded("{}")},
		{"send | my/tag | {a: 1, c: 2} | a=0 | b=3", nil, forwarded("{'a': 1, 'b': 3, 'c': 2}")},
		{"send | my/tag | with_grains=[os, nosuch]", nil, forwarded("{'grains': {'os': 'Debian'}}")},
		{"send | my/tag | with_grains=True", nil, forwarded("{'grains': {'os': 'Debian', 'cpus': 2}}")},
		{"send | my/tag | with_pillar=[a]", nil, forwarded("{'pillar': {'a': 'b'}}")},
		{"send | my/tag | with_env=[BRINE_TEST_EVENT]", nil,
			forwarded("{'environ': {'BRINE_TEST_EVENT': 'yes'}}")},
		{"send | my/tag | with_env_opts=True", nil, forwarded("{'saltenv': 'base', 'pillarenv': None}")},
		{"send | my/tag | with_env_opts=True", data.NewMap("saltenv", "dev", "pillarenv", "p"),
			forwarded("{'saltenv': 'dev', 'pillarenv': 'p'}")},
		{"send | my/tag | {a: b}", local, "fire my/tag {'a': 'b'}"},
		{"send | my/tag | {a: b}", data.NewMap("master_type", "disable"), "fire my/tag {'a': 'b'}"},
	} {
		for _, fails := range []bool{false, true} {
			h := &host{fails: fails}
			words := strings.Split(tt.line, " | ")
			res := h.registry(t, tt.opts).Call(t.Context(), "event."+words[0],
				loader.WireArgs(words[1:]), loader.CallOptions{})
			if sent := strings.Join(h.sent, "; "); sent != tt.want {
				t.Errorf("event.%s with %s says\n%s\nwant\n%s", tt.line, data.Repr(tt.opts), sent, tt.want)
			}
			if want := tt.want != "" && !fails; res.Value != want || !res.Success {
				t.Errorf("event.%s with %s returned %s, want %v", tt.line, data.Repr(tt.opts),
					data.Repr(res.Value), want)
			}
		}
	}
}

func TestWholeEnvironment(t *testing.T) {
	h := &host{}
	if _, err := h.registry(t, nil).Invoke(t.Context(), "event.send", []any{"t"},
		data.NewMap("with_env", true)); err != nil {
		t.Fatal(err)
	}
	if home := os.Getenv("PATH"); !strings.Contains(h.sent[0], data.Repr(home)) {
		t.Errorf("the environment is not in %s", h.sent[0])
	}
}

func TestNoMaster(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("__cli", "salt-call")},
		[]loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.Invoke(t.Context(), "event.fire_master", []any{data.NewMap(), "t"},
		nil); v != false || err != nil {
		t.Errorf("returned %v, %v", v, err)
	}
}
