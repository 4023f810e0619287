package gpg_test

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	modules "github.com/brineproject/brine/modules/gpg"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/gpg"
)

const (
	one = "11BB3673631BCA58B9B5EEDF23992F59CBA5F458"
	two = "65987BB13086001F1F703F01512D676954DAC8EF"
)

// A chain replaces the module gpg by a keychain and a key server in memory.
type chain struct {
	keys   []*data.Map
	served []string // fingerprints on the key server
	secret []string // fingerprints with a secret key
	wrote  int      // number of calls that changed the keychain
	of     []any    // user and gnupghome of the last call
}

func newKey(fingerprint string) *data.Map {
	return data.NewMap("keyid", fingerprint[24:], "fingerprint", fingerprint, "ownerTrust",
		"Unknown", "trust", "Unknown")
}

type chainArgs struct {
	Keys, Keyserver, Fingerprint, TrustLevel any `default:"None"`
	User, Gnupghome                          any `default:"None"`
}

func (c *chain) plugin() loader.Plugin {
	f := func(name string, do func(a chainArgs) any) loader.Func {
		return loader.F(name, func(_ context.Context, a chainArgs) (any, error) {
			c.of = []any{a.User, a.Gnupghome}
			return do(a), nil
		})
	}
	answer := func(ok bool, message any) any {
		c.wrote++
		return data.NewMap("res", ok, "message", message)
	}
	return loader.Plugin{Name: "gpg", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			f("list_keys", func(chainArgs) any {
				list := []any{}
				for _, k := range c.keys {
					list = append(list, k)
				}
				return list
			}),
			f("receive_keys", func(a chainArgs) any {
				for _, fingerprint := range c.served {
					if data.Str(a.Keys) == fingerprint || data.Str(a.Keys) == fingerprint[24:] {
						c.keys = append(c.keys, newKey(fingerprint))
						return answer(true, []any{"Key " + fingerprint + " added to keychain"})
					}
				}
				return answer(false, []any{"Unable to add key to keychain"})
			}),
			f("trust_key", func(a chainArgs) any {
				for _, k := range c.keys {
					if k.Value("fingerprint") == a.Fingerprint {
						k.Set("ownerTrust", map[string]string{"fully": "Fully Trusted",
							"marginally": "Marginally Trusted"}[data.Str(a.TrustLevel)])
						return answer(true, "")
					}
				}
				return answer(false, "no such key")
			}),
			f("delete_key", func(a chainArgs) any {
				if slices.Contains(c.secret, data.Str(a.Fingerprint)) {
					return answer(false, "Secret key exists, delete first or pass delete_secret=True.")
				}
				c.keys = slices.DeleteFunc(c.keys,
					func(k *data.Map) bool { return k.Value("fingerprint") == a.Fingerprint })
				return answer(true, "")
			}),
		}}, nil
	}}
}

func newStates(t *testing.T, plugins ...loader.Plugin) *loader.Registry {
	t.Helper()
	functions, err := loader.NewRegistry(&loader.Env{}, plugins)
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(functions.Env(), []loader.Plugin{gpg.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func run(t *testing.T, states *loader.Registry, test bool, fun string, words ...any) string {
	t.Helper()
	v, err := states.Invoke(change.WithCall(t.Context(), &change.Call{Test: test}), "gpg."+fun, nil,
		data.NewMap(append([]any{"name", "n"}, words...)...))
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("gpg.%s %s: %v", fun, data.Repr(words), err)
	}
	return data.Repr(ret.Value("result")) + " " + data.Repr(ret.Value("changes")) + " " + ret.Text("comment")
}

// TestStates runs the states in order. The comments are those of Salt 3006.18, in test mode those
// of 3007.
func TestStates(t *testing.T) {
	c := &chain{served: []string{one, two}}
	states := newStates(t, c.plugin())
	id := one[24:]
	keys := []any{"keys", []any{id, "0x" + two[32:], "nosuch"}}
	for i, tt := range []struct {
		test  bool
		fun   string
		words []any
		want  string
	}{
		{true, "present", []any{"name", id}, "None {'" + id +
			"': {'added': True}} Would have added " + id + " to GPG keychain"},
		{false, "present", []any{"name", id}, "True {'" + id + "': {'added': True}} Adding " + id +
			" to GPG keychain"},
		{false, "present", []any{"name", id}, "True {} GPG Public Key " + id + " already in keychain "},
		{true, "present", []any{"name", one}, "True {} GPG Public Key " + one + " already in keychain "},
		{false, "present", []any{"name", "nosuch"}, "False {} nosuch: Unable to add key to keychain"},
		{false, "present", []any{"keys", id, "trust", "foo"}, "False {} Invalid trust level foo"},
		{true, "present", []any{"keys", id, "trust", "fully"}, "None {'" + id +
			"': {'trust': 'fully'}} Would have set trust level for " + id +
			" to fully\nGPG Public Key " + id + " already in keychain "},
		{false, "present", []any{"keys", id, "trust", "fully"}, "True {'" + id +
			"': {'trust': 'fully'}} Set trust level for " + id + " to fully\nGPG Public Key " + id +
			" already in keychain "},
		{false, "present", []any{"keys", id, "trust", "fully"}, "True {} GPG Public Key " + id +
			" already in correct trust state\nGPG Public Key " + id + " already in keychain "},
		{false, "present", []any{"keys", []any{two}, "trust", "marginally"}, "True {'" + two +
			"': {'added': True, 'trust': 'marginally'}} Adding n to GPG keychain\nSet trust level for " + two + " to marginally"},
		{false, "present", []any{"keys", []any{two}, "trust", "marginally"},
			"True {} GPG Public Key " + two + " already in correct trust state\nGPG Public Key " +
				two + " already in keychain "},
		{true, "absent", keys, "None {'deleted': ['" + id + "', '0x" + two[32:] +
			"']} Would have deleted " + id + " from GPG keychain\nWould have deleted 0x" +
			two[32:] + " from GPG keychain\nn not found in GPG keychain"},
		{false, "absent", keys, "True {'deleted': ['" + id + "', '0x" + two[32:] +
			"']} Deleting n from GPG keychain\nDeleting n from GPG keychain\nn not found in GPG keychain"},
		{false, "absent", keys, "True {} n not found in GPG keychain\nn not found in GPG keychain\nn not found in GPG keychain"},
		{true, "absent", keys, "True {} n not found in GPG keychain\nn not found in GPG keychain\nn not found in GPG keychain"},
	} {
		wrote := c.wrote
		if got := run(t, states, tt.test, tt.fun,
			append([]any{"user", "ann", "gnupghome", "/h"}, tt.words...)...); got != tt.want {
			t.Errorf("%d: gpg.%s %s, test %t\n got %s\nwant %s", i, tt.fun, data.Repr(tt.words),
				tt.test, got, tt.want)
		}
		if tt.test && c.wrote != wrote {
			t.Errorf("%d: gpg.%s %s writes in test mode", i, tt.fun, data.Repr(tt.words))
		}
		if want := []any{"ann", "/h"}; tt.words[len(tt.words)-1] != "foo" && !data.Equal(c.of, want) {
			t.Errorf("%d: the keychain of %s", i, data.Repr(c.of))
		}
	}
	c.keys, c.secret = []*data.Map{newKey(one)}, []string{one}
	if got, want := run(t, states, false, "absent", "name", id),
		"False {} Secret key exists, delete first or pass delete_secret=True."; got != want {
		t.Errorf("a key with its secret key: %s, want %s", got, want)
	}
}

// TestKeychain runs the states with the real module and a real keychain.
func TestKeychain(t *testing.T) {
	need.Program(t, "gpg", "gpgconf")
	dir, err := os.MkdirTemp("/tmp", "g") // short, for the socket of gpg-agent
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	for _, home := range []string{here, there} {
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, home := range []string{here, there} {
			_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		}
		_ = os.RemoveAll(dir)
	})
	fixed := func(module, fun string, v any) loader.Plugin {
		return loader.Plugin{Name: module, New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F(fun,
				func(context.Context, struct{ Name string }) (any, error) { return v, nil })}}, nil
		}}
	}
	plugins := []loader.Plugin{modules.Plugin(), fixed("config", "option", "me"), fixed("pillar", "get", ""),
		fixed("user", "info", data.NewMap("name", me.Username, "uid", me.Uid, "gid", me.Gid, "home", dir))}
	functions, err := loader.NewRegistry(&loader.Env{}, plugins)
	if err != nil {
		t.Fatal(err)
	}
	call := func(fun string, words ...any) *data.Map {
		t.Helper()
		v, err := functions.Invoke(t.Context(), "gpg."+fun, nil, data.NewMap(words...))
		m, ok := v.(*data.Map)
		if err != nil || !ok || m.Value("res") != true {
			t.Fatalf("gpg.%s: %s, %v", fun, data.Repr(v), err)
		}
		return m
	}
	fingerprint := call("create_key", "key_length", 2048, "gnupghome", here).Text("fingerprint")
	call("import_key", "text", call("export_key", "keyids", fingerprint,
		"gnupghome", here).Value("comment"), "gnupghome", there)
	states, id := newStates(t, plugins...), fingerprint[24:]
	for _, tt := range []struct {
		fun   string
		words []any
		want  string
	}{
		{"present", []any{"name", id, "gnupghome", there, "trust", "marginally"}, "True {'" + id +
			"': {'trust': 'marginally'}} Set trust level for " + id +
			" to marginally\nGPG Public Key " + id + " already in keychain "},
		{"present", []any{"name", id, "gnupghome", there, "trust", "marginally"},
			"True {} GPG Public Key " + id + " already in correct trust state\nGPG Public Key " +
				id + " already in keychain "},
		{"absent", []any{"name", id, "gnupghome", there}, "True {'deleted': ['" + id +
			"']} Deleting " + id + " from GPG keychain"},
		{"absent", []any{"name", id, "gnupghome", there}, "True {} " + id + " not found in GPG keychain"},
		{"absent", []any{"name", id, "gnupghome", here},
			"False {} Secret key exists, delete first or pass delete_secret=True."},
	} {
		if got := run(t, states, false, tt.fun, tt.words...); got != tt.want {
			t.Errorf("gpg.%s %s\n got %s\nwant %s", tt.fun, data.Repr(tt.words), got, tt.want)
		}
	}
}
