// Package gpg is Salt's state gpg: public keys in GnuPG keychains (salt/states/gpg.py). It uses the
// module gpg.
//
// Differences from Salt 3006: there are changes and a test mode, as in 3007. The state fails when a
// key cannot be added or removed, and for an unknown trust level. Keys are also found by
// fingerprint and short ID. The owner's trust is compared, not the validity of the key. absent
// looks into the keychain of user and gnupghome.
package gpg

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state gpg.
func Plugin() loader.Plugin { return loader.Plugin{Name: "gpg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("gpg.list_keys") {
		return nil, errors.New("gpg module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("present", m.present),
	}}, nil
}

// trusts maps trust levels to the terms of gpg.list_keys.
var trusts = map[string]string{
	"expired": "Expired", "unknown": "Unknown", "not_trusted": "Not Trusted",
	"marginally": "Marginally Trusted", "fully": "Fully Trusted",
	"ultimately": "Ultimately Trusted",
}

// A keychain is the keychain of a user.
type keychain struct {
	m          *module
	user, home any
	keys       []any // as last read, nil to read them again
}

// call calls a function of the module for the keychain.
func (k *keychain) call(ctx context.Context, fun string, kwargs *data.Map) (any, error) {
	k.keys = nil
	kwargs.Set("user", k.user)
	kwargs.Set("gnupghome", k.home)
	return change.Ask[any](ctx, k.m.env, "gpg."+fun, nil, kwargs)
}

// find returns the key with this fingerprint or ID, which may be short. It returns nil if there is
// none.
func (k *keychain) find(ctx context.Context, id string) (*data.Map, error) {
	if k.keys == nil {
		v, err := k.call(ctx, "list_keys", data.NewMap())
		if err != nil {
			return nil, err
		}
		list, err := calls.FoundIn[[]any]("gpg.list_keys", v)
		if err != nil {
			return nil, err
		}
		k.keys = append([]any{}, list...)
	}
	id = strings.ToUpper(strings.TrimPrefix(strings.ToLower(id), "0x"))
	for _, v := range k.keys {
		key, _ := v.(*data.Map)
		long, fingerprint := key.Text("keyid"), key.Text("fingerprint")
		short := len(id) == 8 && strings.HasSuffix(long, id)
		if key != nil && (id == long || id == fingerprint || short) {
			return key, nil
		}
	}
	return nil, nil
}

// wanted returns the key IDs that a state manages.
func wanted(name, keys any) []string {
	switch list := data.TextsOf(keys); {
	case len(list) > 0:
		return list
	case data.Truth(keys):
		return []string{data.Str(keys)}
	}
	return []string{data.Str(name)}
}

// failureMessage returns the message of a module function that failed, and whether it failed.
func failureMessage(v any) (string, bool) {
	m, ok := v.(*data.Map)
	switch {
	case !ok:
		return data.Str(v), true
	case data.Truth(m.Value("res")):
		return "", false
	}
	if list, ok := m.Value("message").([]any); ok {
		return strings.Join(data.Texts(list), "\n"), true
	}
	return m.Text("message"), true
}

type presentArgs struct {
	Name      any
	Keys      any       `default:"None"`
	User      any       `default:"None"`
	Keyserver any       `default:"None"`
	Gnupghome any       `default:"None"`
	Trust     any       `default:"None"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// present imports missing public keys into a keychain from a key server.
//
// keys
//
//	IDs of keys, or their fingerprints. Default: the name.
//
// user
//
//	The user whose keychain it is. Default: the minion's user. salt means gpgkeys in the minion's
//	configuration directory.
//
// keyserver
//
//	The key server. Default: keys.openpgp.org.
//
// gnupghome
//
//	The directory of the keychain.
//
// trust
//
//	The trust level of the owners: expired, unknown, not_trusted, marginally, fully or ultimately.
//
//	releases:
//	  gpg.present:
//	    - keys: 53C96788253E58416D20BCD352952C84C3252192
//	    - user: salt
//	    - trust: fully
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	trust := data.Str(a.Trust)
	if data.Truth(a.Trust) && trusts[trust] == "" {
		return change.Refuse(a.Name, "Invalid trust level "+trust)
	}
	chain := &keychain{m: m, user: a.User, home: a.Gnupghome}
	var parts []change.Result
	for _, id := range wanted(a.Name, a.Keys) {
		there, err := chain.add(ctx, a, id)
		if err != nil {
			return there, err
		}
		already := there.Changes.Len() == 0 && there.Verdict == change.Success
		if !already {
			parts = append(parts, there)
		}
		if data.Truth(a.Trust) && there.Verdict == change.Success {
			trusted, err := chain.trust(ctx, id, trust)
			if err != nil {
				return trusted, err
			}
			parts = append(parts, trusted)
		}
		if already {
			parts = append(parts, there)
		}
	}
	return change.Join(a.Name, parts...), nil
}

// add imports a key into the keychain.
func (k *keychain) add(ctx context.Context, a presentArgs, id string) (change.Result, error) {
	var why string
	return change.Thing[*data.Map]{
		Look: func(ctx context.Context) (*data.Map, error) { return k.find(ctx, id) },
		Wants: func(key *data.Map) *data.Map {
			return change.When(key == nil, data.NewMap(id, data.NewMap("added", true)))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			v, err := k.call(ctx, "receive_keys", data.NewMap("keyserver", a.Keyserver, "keys", id))
			why, _ = failureMessage(v)
			return err
		},
		Texts: change.Texts{
			Same:  "GPG Public Key " + id + " already in keychain ",
			Would: "Would have added " + id + " to GPG keychain",
			Done:  "Adding " + data.Str(a.Name) + " to GPG keychain",
		},
		Say: func(o change.Outcome[*data.Map]) any {
			if o.Stage != change.StageFailed {
				return nil
			}
			return id + ": " + cmp.Or(why, "The key server sent another key")
		},
	}.Ensure(ctx)
}

// trust sets the trust level of a key's owner.
func (k *keychain) trust(ctx context.Context, id, trust string) (change.Result, error) {
	return change.Thing[*data.Map]{
		Look: func(ctx context.Context) (*data.Map, error) { return k.find(ctx, id) },
		Wants: func(key *data.Map) *data.Map {
			changes := data.NewMap(id, data.NewMap("trust", trust))
			return change.When(key.Text("ownerTrust") != trusts[trust], changes)
		},
		Apply: func(ctx context.Context, key *data.Map) error {
			words := data.NewMap("fingerprint", key.Value("fingerprint"), "trust_level", trust)
			return callError(k.call(ctx, "trust_key", words))
		},
		Texts: change.Texts{
			Same:  "GPG Public Key " + id + " already in correct trust state",
			Would: "Would have set trust level for " + id + " to " + trust,
			Done:  "Set trust level for " + id + " to " + trust,
		},
	}.Ensure(ctx)
}

// callError returns the error of a call, or the message if the function failed.
func callError(v any, err error) error {
	if why, no := failureMessage(v); err == nil && no {
		return errors.New(why)
	}
	return err
}

type absentArgs struct {
	Name      any
	Keys      any       `default:"None"`
	User      any       `default:"None"`
	Gnupghome any       `default:"None"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// absent removes public keys from a keychain. A key whose secret key exists is not removed, which
// is a failure.
//
// keys
//
//	IDs of keys, or their fingerprints. Default: the name.
//
// user
//
//	The user whose keychain it is. Default: the minion's user. salt means gpgkeys in the minion's
//	configuration directory.
//
// gnupghome
//
//	The directory of the keychain.
//
//	3FAD9F1E3FAD9F1E:
//	  gpg.absent:
//	    - user: salt
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	chain := &keychain{m: m, user: a.User, home: a.Gnupghome}
	name := data.Str(a.Name)
	var parts []change.Result
	for _, id := range wanted(a.Name, a.Keys) {
		part, err := change.Thing[*data.Map]{
			Look: func(ctx context.Context) (*data.Map, error) { return chain.find(ctx, id) },
			Wants: func(key *data.Map) *data.Map {
				return change.When(key != nil, data.NewMap("deleted", []any{id}))
			},
			Apply: func(ctx context.Context, key *data.Map) error {
				words := data.NewMap("fingerprint", key.Value("fingerprint"))
				return callError(chain.call(ctx, "delete_key", words))
			},
			Texts: change.Texts{
				Same:  name + " not found in GPG keychain",
				Would: "Would have deleted " + id + " from GPG keychain",
				Done:  "Deleting " + name + " from GPG keychain",
			},
		}.Ensure(ctx)
		if err != nil {
			return part, err
		}
		parts = append(parts, part)
	}
	return change.Join(a.Name, parts...), nil
}
