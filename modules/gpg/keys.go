package gpg

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/gpg"
)

// trusts maps gpg's letters for trust to their meanings.
var trusts = map[string]string{
	"e": "Expired", "q": "Unknown", "n": "Not Trusted", "f": "Fully Trusted",
	"m": "Marginally Trusted", "u": "Ultimately Trusted",
	"r": "Revoked", "-": "Unknown", "o": "Unknown", "i": "Invalid", "d": "Disabled",
}

// A key is a key in a keychain or on a key server. Fields that gpg leaves empty are "".
type key struct {
	id, fingerprint, length, created, expires, owner, trust string
	uids                                                    []any
}

// result returns a key in the form of the functions' results.
func (k *key) result(fingerprint bool) *data.Map {
	m := data.NewMap("keyid", k.id)
	if fingerprint {
		m.Set("fingerprint", k.fingerprint)
	}
	m.Set("uids", k.uids)
	for _, f := range []struct{ name, value string }{
		{"expires", day(k.expires)}, {"created", day(k.created)}, {"keyLength", k.length},
		{"ownerTrust", trusts[k.owner]}, {"trust", trusts[k.trust]},
	} {
		if f.value != "" {
			m.Set(f.name, f.value)
		}
	}
	return m
}

// day converts a time in seconds to a date.
func day(seconds string) string {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return ""
	}
	return time.Unix(n, 0).Format("2006-01-02")
}

var escaped = regexp.MustCompile(`\\x[0-9a-fA-F]{2}|\\[nrfvb0]`)

// unescape decodes the escapes in a name.
func unescape(text string) string {
	return strings.ToValidUTF8(escaped.ReplaceAllStringFunc(text, func(s string) string {
		if n, err := strconv.ParseUint(s[2:], 16, 8); err == nil && s[1] == 'x' {
			return string([]byte{byte(n)})
		}
		return map[string]string{`\n`: "\n", `\r`: "\r", `\f`: "\f", `\v`: "\v", `\b`: "\b",
			`\0`: "\x00"}[s]
	}), "\uFFFD")
}

// parse parses a key listing of gpg. found converts the fields of the lines pub and sec to a key.
func parse(out []byte, found func(fields []string) *key, uid int) []*key {
	var keys []*key
	sub := false
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		for len(f) < 10 {
			f = append(f, "")
		}
		switch f[0] {
		case "pub", "sec":
			keys, sub = append(keys, found(f)), false
			continue
		case "sub", "ssb":
			sub = true
		}
		if len(keys) == 0 {
			continue
		}
		switch k := keys[len(keys)-1]; {
		case f[0] == "uid":
			k.uids = append(k.uids, unescape(f[uid]))
		case f[0] == "fpr" && !sub:
			k.fingerprint = f[9]
		}
	}
	return keys
}

// list returns the keys of a keychain.
func (k *keychain) list(ctx context.Context, secret bool) ([]*key, error) {
	which := "--list-keys"
	if secret {
		which = "--list-secret-keys"
	}
	r, err := k.do(ctx, gpg.Call{Args: []string{which, "--fingerprint", "--fingerprint"}})
	if err != nil {
		return nil, err
	}
	return parse(r.Output, func(f []string) *key {
		return &key{trust: f[1], length: f[2], id: f[4], created: f[5], expires: f[6], owner: f[8],
			uids: []any{}}
	}, 9), nil
}

// find returns the last key with a fingerprint or an ID, which may be only its last eight digits,
// or nil if there is none.
func (k *keychain) find(ctx context.Context, id, fingerprint any, secret bool) (*key, error) {
	keys, err := k.list(ctx, secret)
	var last *key
	for _, one := range keys {
		short := one.id[min(8, len(one.id)):]
		same := fingerprint != nil && one.fingerprint == data.Str(fingerprint)
		if same || id != nil && (one.id == data.Str(id) || short == data.Str(id)) {
			last = one
		}
	}
	return last, err
}

type listArgs struct {
	User      any `default:"None"`
	Gnupghome any `default:"None"`
}

// listKeys returns the keys of a keychain.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// gnupghome
//
//	The directory of the keychain.
//
// CLI Example:
//
//	salt '*' gpg.list_keys
func (m *module) listKeys(ctx context.Context, a listArgs) (any, error) {
	return m.all(ctx, a, false)
}

// listSecretKeys returns the secret keys of a keychain.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// gnupghome
//
//	The directory of the keychain.
//
// CLI Example:
//
//	salt '*' gpg.list_secret_keys
func (m *module) listSecretKeys(ctx context.Context, a listArgs) (any, error) {
	return m.all(ctx, a, true)
}

func (m *module) all(ctx context.Context, a listArgs, secret bool) (any, error) {
	chain, err := m.open(ctx, a.User, a.Gnupghome)
	if err != nil {
		return nil, err
	}
	keys, err := chain.list(ctx, secret)
	return results(keys, true), err
}

func results(keys []*key, fingerprint bool) []any {
	list := []any{}
	for _, k := range keys {
		list = append(list, k.result(fingerprint))
	}
	return list
}

type getArgs struct {
	Keyid       any `default:"None"`
	Fingerprint any `default:"None"`
	User        any `default:"None"`
	Gnupghome   any `default:"None"`
}

// getKey returns a key of a keychain, or False if there is none.
//
// keyid
//
//	The ID of the key, or its last eight digits.
//
// fingerprint
//
//	The fingerprint of the key.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// gnupghome
//
//	The directory of the keychain.
//
// CLI Example:
//
//	salt '*' gpg.get_key keyid=3FAD9F1E
//	salt '*' gpg.get_key fingerprint=53C96788253E58416D20BCD352952C84C3252192
//	salt '*' gpg.get_key keyid=3FAD9F1E user=username
func (m *module) getKey(ctx context.Context, a getArgs) (any, error) { return m.get(ctx, a, false) }

// getSecretKey returns a secret key of a keychain, or False if there is none.
//
// keyid
//
//	The ID of the key, or its last eight digits.
//
// fingerprint
//
//	The fingerprint of the key.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// gnupghome
//
//	The directory of the keychain.
//
// CLI Example:
//
//	salt '*' gpg.get_secret_key keyid=3FAD9F1E
//	salt '*' gpg.get_secret_key fingerprint=53C96788253E58416D20BCD352952C84C3252192
//	salt '*' gpg.get_secret_key keyid=3FAD9F1E user=username
func (m *module) getSecretKey(ctx context.Context, a getArgs) (any, error) {
	return m.get(ctx, a, true)
}

func (m *module) get(ctx context.Context, a getArgs, secret bool) (any, error) {
	chain, err := m.open(ctx, a.User, a.Gnupghome)
	if err != nil {
		return nil, err
	}
	k, err := chain.find(ctx, a.Keyid, a.Fingerprint, secret)
	if k == nil || err != nil {
		return false, err
	}
	return k.result(true), nil
}
