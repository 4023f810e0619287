package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	access "github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// store is a token store.
type store struct{ tokens *access.Tokens }

func (store) Make(context.Context, *data.Map) (any, error)         { return data.NewMap(), nil }
func (store) Delete(context.Context, string) (bool, error)         { return false, nil }
func (s store) Store(_ context.Context, do func(Keys) error) error { return do(s.tokens) }

func open(t *testing.T) (*loader.Registry, *access.Tokens) {
	t.Helper()
	tokens, err := access.OpenTokens(t.TempDir(), "sha256", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tokens.Close() })
	jobs := loader.Plugin{Name: "jobs", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("active", func(context.Context, struct{}) (any, error) { return nil, nil })}}, nil
	}}
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{Plugin(store{tokens}), jobs})
	if err != nil {
		t.Fatal(err)
	}
	return r, tokens
}

func invoke(t *testing.T, r *loader.Registry, fun string, words ...any) *data.Map {
	t.Helper()
	v, err := r.Invoke(t.Context(), fun, nil, data.NewMap(words...))
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("%s: %s, %v", fun, data.Repr(v), err)
	}
	return m
}

func TestKeyIsMadeListedAndDeleted(t *testing.T) {
	r, tokens := open(t)
	rights := []any{"test.*", data.NewMap("web*", []any{"state.apply"}), "@jobs"}
	made := invoke(t, r, "auth.mk_key", "name", "ci", "rights", rights, "user", "ann", "comment", "builds")
	secret := made.Text("secret")
	m, err := tokens.Get(secret)
	if err != nil || m.Text("name") != "ann" || !data.Equal(m.Value("auth_list"), rights) {
		t.Fatalf("%s: %s, %v", data.Repr(made), data.Repr(m), err)
	}
	all := invoke(t, r, "auth.list_keys")
	k, _ := all.Value(made.Text("id")).(*data.Map)
	if k.Text("name") != "ci" || k.Text("user") != "ann" || k.Text("comment") != "builds" || k.Text("used") != "never" ||
		!data.Equal(k.Value("rights"), rights) || strings.Contains(data.Repr(all), secret) {
		t.Errorf("list_keys = %s", data.Repr(all))
	}
	expire, err := time.Parse(time.RFC3339, k.Text("expire"))
	if left := time.Until(expire); err != nil || left < 89*24*time.Hour || left > 90*24*time.Hour {
		t.Errorf("by default it expires in %v, %v", left, err)
	}
	for want, key := range map[bool]any{true: "ci", false: "other"} {
		if v, err := r.Invoke(t.Context(), "auth.del_key", []any{key}, nil); err != nil || v != want {
			t.Errorf("del_key %v = %v, %v", key, v, err)
		}
	}
	if _, err := tokens.Get(secret); err == nil {
		t.Error("a deleted key is valid")
	}
}

func TestSecretIsSecret(t *testing.T) {
	r, _ := open(t)
	f, _ := r.Func("auth.mk_key")
	if got := f.Spec().SecretResult; len(got) != 1 || got[0] != "secret" {
		t.Errorf("secret fields %q", got)
	}
}

func TestLifetimes(t *testing.T) {
	r, _ := open(t)
	const day = 24 * time.Hour
	for text, want := range map[any]time.Duration{"never": 0, "0": 0, int64(0): 0, "12h": 12 * time.Hour, "30m": 30 * time.Minute,
		"90d": 90 * day, "2w": 14 * day, "1y": 365 * day} {
		if got, err := lifetime(text); got != want || err != nil {
			t.Errorf("%v is %v, %v", text, got, err)
		}
	}
	for _, text := range []any{nil, "", "d", "90", int64(90), "-1d", "0d", "1.5d", "101y", "9999999999d", "x", "90 d", true, []any{}} {
		if _, err := r.Invoke(t.Context(), "auth.mk_key", nil,
			data.NewMap("name", "x", "rights", []any{".*"}, "expire", text)); err == nil {
			t.Errorf("%v is taken", text)
		}
	}
}

// A key that is not made is an error with the reason, so that salt-run ends with the code 1.
func TestWrongKeysAreErrors(t *testing.T) {
	r, tokens := open(t)
	invoke(t, r, "auth.mk_key", "name", "ci", "rights", "test.*", "expire", "never")
	for want, words := range map[string]*data.Map{
		"rights must be a list":                              data.NewMap("name", "x", "rights", data.NewMap("web*", []any{".*"})),
		"rights are needed":                                  data.NewMap("name", "x", "rights", []any{}),
		"rights: entry 1: '(' is no regular expression":      data.NewMap("name", "x", "rights", []any{"("}),
		"rights: entry 2: there is no '@job'; is '@jobs'":    data.NewMap("name", "x", "rights", []any{".*", "@job"}),
		"there is a key of this name":                        data.NewMap("name", "ci", "rights", []any{".*"}),
		"expire must be a time such as 12h":                  data.NewMap("name", "x", "rights", []any{".*"}, "expire", ""),
		"there is no argument expires; is expire meant?":     data.NewMap("name", "x", "rights", []any{".*"}, "expires", ""),
		"there is no argument valid_for; there are name, ri": data.NewMap("name", "x", "rights", []any{".*"}, "valid_for", "1d"),
	} {
		_, err := r.Invoke(t.Context(), "auth.mk_key", nil, words)
		unable, ok := errors.AsType[*runners.UnableError](err)
		if !ok || !strings.HasPrefix(unable.Text, "No key was made: ") || !strings.Contains(unable.Text, want) {
			t.Errorf("%s: %v, want %s", data.Repr(words), err, want)
		}
	}
	if all, err := tokens.Keys(); len(all) != 1 || err != nil {
		t.Errorf("the store has %d keys, %v", len(all), err)
	}
}
