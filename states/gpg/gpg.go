// Package gpg is Salt's state gpg: public keys in keychains of GnuPG (salt/states/gpg.py). The module gpg does the
// work.
//
// Differences from Salt 3006: there are changes and a test mode, as in 3007. The state fails when a key cannot be added
// or removed, and for an unknown trust level. Keys are also found by fingerprint and short id. The owner's trust is
// compared, not the validity of the key. absent looks into the keychain of user and gnupghome.
package gpg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
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

// trusts are the words of gpg.list_keys for trust levels.
var trusts = map[string]string{
	"expired": "Expired", "unknown": "Unknown", "not_trusted": "Not Trusted", "marginally": "Marginally Trusted",
	"fully": "Fully Trusted", "ultimately": "Ultimately Trusted",
}

// A keychain is that of a user.
type keychain struct {
	m          *module
	user, home any
}

// call calls a function of the module for the keychain.
func (k keychain) call(ctx context.Context, fun string, kwargs *data.Map) (any, error) {
	kwargs.Set("user", k.user)
	kwargs.Set("gnupghome", k.home)
	return k.m.env.Call(ctx, "gpg."+fun, nil, kwargs)
}

// keys returns the keys of the keychain.
func (k keychain) keys(ctx context.Context) ([]*data.Map, error) {
	v, err := k.call(ctx, "list_keys", data.NewMap())
	list, _ := v.([]any)
	var keys []*data.Map
	for _, one := range list {
		if key, ok := one.(*data.Map); ok {
			keys = append(keys, key)
		}
	}
	return keys, err
}

// find returns the key with an id, which may be short, or a fingerprint; nil where there is none.
func find(keys []*data.Map, id string) *data.Map {
	id = strings.ToUpper(strings.TrimPrefix(strings.ToLower(id), "0x"))
	for _, key := range keys {
		long, fingerprint := key.Text("keyid"), key.Text("fingerprint")
		if id == long || id == fingerprint || len(id) == 8 && strings.HasSuffix(long, id) {
			return key
		}
	}
	return nil
}

// wanted returns the ids that a state is about.
func wanted(name, keys any) []string {
	switch keys := keys.(type) {
	case []any:
		if len(keys) > 0 {
			return data.Texts(keys)
		}
	case data.Tuple:
		return data.Texts(keys)
	default:
		if data.Truth(keys) {
			return []string{data.Str(keys)}
		}
	}
	return []string{data.Str(name)}
}

// A report is the result of a state over several keys.
type report struct {
	failed, would bool
	changes       *data.Map
	comments      []string
}

func (r *report) say(format string, args ...any) {
	r.comments = append(r.comments, fmt.Sprintf(format, args...))
}

func (r *report) fail(format string, args ...any) {
	r.failed = true
	r.say(format, args...)
}

// set notes a change of a key.
func (r *report) set(key, name string, v any) {
	about, ok := r.changes.Value(key).(*data.Map)
	if !ok {
		about = data.NewMap()
		r.changes.Set(key, about)
	}
	about.Set(name, v)
}

func (r *report) result(name any) *data.Map {
	comment := strings.Join(r.comments, "\n")
	switch {
	case r.failed:
		return change.New(name, false, r.changes, comment)
	case r.would:
		return change.New(name, nil, r.changes, comment)
	}
	return change.New(name, true, r.changes, comment)
}

// refused returns what a function of the module says that has not done its work, and whether it has not.
func refused(v any) (string, bool) {
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

// present gets public keys that are not in a keychain from a key server.
//
// keys
//
//	Ids of keys, or their fingerprints. Default: the name.
//
// user
//
//	Whose keychain it is: the minion's user by default; salt means gpgkeys beside the minion's configuration.
//
// keyserver
//
//	The server; keys.openpgp.org by default.
//
// gnupghome
//
//	The directory of the keychain.
//
// trust
//
//	How far the owners are trusted: expired, unknown, not_trusted, marginally, fully or ultimately.
//
//	releases:
//	  gpg.present:
//	    - keys: 53C96788253E58416D20BCD352952C84C3252192
//	    - user: salt
//	    - trust: fully
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	r := &report{changes: data.NewMap()}
	trust := data.Str(a.Trust)
	if data.Truth(a.Trust) && trusts[trust] == "" {
		return change.Failed(a.Name, "Invalid trust level "+trust), nil
	}
	chain := keychain{m, a.User, a.Gnupghome}
	keys, err := chain.keys(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range wanted(a.Name, a.Keys) {
		key := find(keys, id)
		there := key != nil
		switch {
		case there:
		case change.Test(ctx):
			r.would = true
			r.say("Would have added %s to GPG keychain", id)
			r.set(id, "added", true)
			continue
		default:
			v, err := chain.call(ctx, "receive_keys", data.NewMap("keyserver", a.Keyserver, "keys", id))
			if err != nil {
				return nil, err
			}
			if keys, err = chain.keys(ctx); err != nil {
				return nil, err
			}
			if key = find(keys, id); key == nil {
				why, _ := refused(v)
				if why == "" {
					why = "The key server sent another key"
				}
				r.fail("%s: %s", id, why)
				continue
			}
			r.say("Adding %s to GPG keychain", data.Str(a.Name))
			r.set(id, "added", true)
		}
		if data.Truth(a.Trust) {
			if err := r.trust(ctx, chain, key, id, trust); err != nil {
				return nil, err
			}
		}
		if there {
			r.say("GPG Public Key %s already in keychain ", id)
		}
	}
	return r.result(a.Name), nil
}

// trust says how far the owner of a key is trusted.
func (r *report) trust(ctx context.Context, chain keychain, key *data.Map, id, trust string) error {
	switch {
	case key.Text("ownerTrust") == trusts[trust]:
		r.say("GPG Public Key %s already in correct trust state", id)
		return nil
	case change.Test(ctx):
		r.would = true
		r.say("Would have set trust level for %s to %s", id, trust)
		r.set(id, "trust", trust)
		return nil
	}
	v, err := chain.call(ctx, "trust_key", data.NewMap("fingerprint", key.Value("fingerprint"), "trust_level", trust))
	if err != nil {
		return err
	}
	if why, no := refused(v); no {
		r.fail("%s", why)
		return nil
	}
	r.say("Set trust level for %s to %s", id, trust)
	r.set(id, "trust", trust)
	return nil
}

type absentArgs struct {
	Name      any
	Keys      any       `default:"None"`
	User      any       `default:"None"`
	Gnupghome any       `default:"None"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// absent removes public keys from a keychain. A key whose secret key is there stays, which is a failure.
//
// keys
//
//	Ids of keys, or their fingerprints. Default: the name.
//
// user
//
//	Whose keychain it is: the minion's user by default; salt means gpgkeys beside the minion's configuration.
//
// gnupghome
//
//	The directory of the keychain.
//
//	3FAD9F1E3FAD9F1E:
//	  gpg.absent:
//	    - user: salt
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	r := &report{changes: data.NewMap()}
	chain := keychain{m, a.User, a.Gnupghome}
	keys, err := chain.keys(ctx)
	if err != nil {
		return nil, err
	}
	gone := []any{}
	for _, id := range wanted(a.Name, a.Keys) {
		key := find(keys, id)
		switch {
		case key == nil:
			r.say("%s not found in GPG keychain", data.Str(a.Name))
			continue
		case change.Test(ctx):
			r.would = true
			r.say("Would have deleted %s from GPG keychain", id)
			gone = append(gone, id)
			continue
		}
		v, err := chain.call(ctx, "delete_key", data.NewMap("fingerprint", key.Value("fingerprint")))
		if err != nil {
			return nil, err
		}
		if why, no := refused(v); no {
			r.fail("%s", why)
			continue
		}
		r.say("Deleting %s from GPG keychain", data.Str(a.Name))
		gone = append(gone, id)
	}
	if len(gone) > 0 {
		r.changes.Set("deleted", gone)
	}
	return r.result(a.Name), nil
}
