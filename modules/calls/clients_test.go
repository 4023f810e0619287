package calls

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A client is one call of a wrapper: the result of the module, the expected call, and the expected
// result of the wrapper.
type client struct {
	call   func(context.Context, *loader.Env) (any, error)
	answer any
	called string
	want   string // in Python's notation; after the error, if there is one
}

// check makes the calls, and repeats each with an error as the module's result.
func check(t *testing.T, clients []client) {
	t.Helper()
	for _, c := range clients {
		env, call := recordingEnv(c.answer, nil)
		got, err := c.call(t.Context(), env)
		text := data.Repr(got)
		if err != nil {
			text = err.Error()
		}
		if *call != c.called {
			t.Errorf("called %s\n want %s", *call, c.called)
		}
		if text != c.want {
			t.Errorf("%s, answer %s: %s, want %s", c.called, data.Repr(c.answer), text, c.want)
		}
		broken := errors.New("the module is broken")
		env, _ = recordingEnv(nil, broken)
		if _, err := c.call(t.Context(), env); !errors.Is(err, broken) {
			t.Errorf("%s: the error %v is lost: %v", c.called, broken, err)
		}
	}
}

// texts converts a list of strings to a value.
func texts(list []string, err error) (any, error) { return data.Values(list), err }

// done is the result of a wrapper that returns only an error.
func done(err error) (any, error) { return nil, err }

// known is the result of a wrapper that also reports whether the value exists.
func known(v any, ok bool, err error) (any, error) { return []any{v, ok}, err }

func TestMatchAndStatus(t *testing.T) {
	pid := func(ctx context.Context, e *loader.Env) (any, error) {
		return StatusPID(ctx, e, "sshd")
	}
	check(t, []client{
		{
			func(ctx context.Context, e *loader.Env) (any, error) {
				return MatchGlob(ctx, e, "web*", "web1")
			},
			true, "match.glob ['web*', 'web1'] {}", "True",
		},
		{
			func(ctx context.Context, e *loader.Env) (any, error) {
				return MatchCompound(ctx, e, "G@os:x")
			},
			nil, "match.compound ['G@os:x'] {}", "False",
		},
		{pid, "12\n13", "status.pid ['sshd'] {}", `'12\n13'`},
		{pid, false, "status.pid ['sshd'] {}", "''"},
		{pid, int64(12), "status.pid ['sshd'] {}", "status.pid: returned int, expected str"},
	})
}

func TestStores(t *testing.T) {
	type env = *loader.Env
	stored := func(ctx context.Context, e env) (any, error) {
		return DataGet[*data.Map](ctx, e, "mine")
	}
	grain := func(ctx context.Context, e env) (any, error) {
		return texts(GrainsGet[[]string](ctx, e, "roles"))
	}
	set := func(ctx context.Context, e env) (any, error) {
		return done(GrainsSetVal(ctx, e, "role", "web"))
	}
	secret := func(ctx context.Context, e env) (any, error) {
		return PillarGet[string](ctx, e, "pw", nil)
	}
	items := func(ctx context.Context, e env) (any, error) {
		return PillarItems(ctx, e, nil, "dev")
	}
	check(t, []client{
		{stored, data.NewMap("a", "b"), "data.get ['mine'] {}", "{'a': 'b'}"},
		{stored, []any{"a"}, "data.get ['mine'] {}", "data.get: returned list, expected dict"},
		{
			func(ctx context.Context, e env) (any, error) {
				return DataUpdate(ctx, e, "mine", nil)
			},
			true, "data.update ['mine', None] {}", "True",
		},
		{grain, []any{"web"}, "grains.get ['roles'] {}", "['web']"},
		{grain, "", "grains.get ['roles'] {}", "[]"},
		{grain, "web", "grains.get ['roles'] {}", "grains.get: returned str, expected list"},
		{set, data.NewMap("role", "web"), "grains.setval ['role', 'web'] {}", "None"},
		{set, "cannot write", "grains.setval ['role', 'web'] {}", "cannot write"},
		{secret, nil, "pillar.get ['pw', None] {}", "''"},
		{secret, int64(1), "pillar.get ['pw', None] {}", "pillar.get: returned int, expected str"},
		{
			items,
			data.NewMap("a", "b"),
			"pillar.items [] {'pillar': None, 'pillarenv': 'dev'}",
			"{'a': 'b'}",
		},
		{
			items, "x", "pillar.items [] {'pillar': None, 'pillarenv': 'dev'}",
			"pillar.items: returned str, expected dict",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return done(RefreshGrains(ctx, e, true))
			},
			true, "saltutil.refresh_grains [] {'refresh_pillar': True}", "None",
		},
		{
			func(ctx context.Context, e env) (any, error) { return done(RefreshModules(ctx, e)) },
			true, "saltutil.refresh_modules [] {}", "None",
		},
	})
	failing, _ := recordingEnv("broken", nil)
	if err := GrainsSetVal(t.Context(), failing, "a", "b"); loader.KindOf(err) != loader.KindExecution {
		t.Errorf("a grain that is not written: %v of kind %v", err, loader.KindOf(err))
	}
	none, call := recordingEnv(nil, nil)
	if _, err := Found[string](t.Context(), none, "x.y", nil, nil); err != nil ||
		!strings.HasPrefix(*call, "x.y") {
		t.Errorf("Found: %v, called %s", err, *call)
	}
}
