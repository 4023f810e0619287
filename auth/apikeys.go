package auth

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// KeySystem is the eauth of API keys in the token store. No master has such a system of
// external_auth: one that does not know API keys refuses them.
const KeySystem = "key"

// An APIKey lets a program act without a login, within its own rights. It is an entry of the token
// store, whose file is named by the SHA-256 of the secret: the store does not have the secret.
type APIKey struct {
	ID      string // first 12 digits of that SHA-256
	Name    string
	User    string // who acts with it, as jobs and events show it
	Rights  []any  // in the form of external_auth; they are all its rights
	Comment string
	Start   time.Time
	Expire  time.Time // zero: never
	Used    time.Time // last use, to the minute; zero: never
}

const (
	apiKeyID     = 12 // digits
	mostComment  = 1000
	mostRights   = 64 << 10       // bytes
	neverExpires = 253402300799.0 // the last second of the year 9999, as Salt must read a number
)

var (
	// errNoKey is the error for a key that does not exist.
	errNoKey = errors.New("there is no such key")
	// errKeySystem is the error for a system of external_auth with the name of keys.
	errKeySystem = errors.New("the name " + KeySystem + " is that of API keys, which have their rights in the token store")

	apiKeyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$`)
	apiKeyRef  = regexp.MustCompile(`^[0-9a-f]{12}$`)
)

// AddKey stores a new key with the name, user, rights, comment and expiry of k, and returns its
// secret, which cannot be had again. Without a user the name is the user's. The error says which of
// them cannot be used; a name that another key has is one.
func (t *Tokens) AddKey(k APIKey) (secret string, added APIKey, err error) {
	k.User, k.Start, k.Used = cmp.Or(k.User, k.Name), t.now().Truncate(time.Second), time.Time{}
	if err := k.check(t.now()); err != nil {
		return "", k, fmt.Errorf("make key: %w", err)
	}
	if err := t.room(holder{KeySystem, ""}); err != nil {
		return "", k, fmt.Errorf("make key %s: %w", k.Name, err)
	}
	unlock, err := t.lockKeys()
	if err != nil {
		return "", k, fmt.Errorf("make key %s: %w", k.Name, err)
	}
	defer unlock()
	all, err := t.Keys()
	if err != nil {
		return "", k, fmt.Errorf("make key %s: %w", k.Name, err)
	}
	if slices.ContainsFunc(all, func(other APIKey) bool { return other.Name == k.Name }) {
		return "", k, fmt.Errorf("make key %s: there is a key of this name", k.Name)
	}
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it does not fail
	secret = hex.EncodeToString(b)
	file := fileOfKey(secret)
	k.ID = file[:apiKeyID]
	raw, err := payload.Marshal(k.entry(file))
	if err == nil {
		err = t.write(file, raw)
	}
	if err == nil {
		err = t.root.Chtimes(file, k.Start, k.Start) // so it has not been used
	}
	if err != nil {
		return "", k, fmt.Errorf("make key %s: %w", k.Name, err)
	}
	t.census.add(file, holder{KeySystem, ""})
	return secret, k, nil
}

// lockKeys keeps other goroutines and programs from changing the keys until unlock is called. The lock is
// that of the directory: a file would be a token for Salt.
func (t *Tokens) lockKeys() (unlock func(), err error) {
	t.keys.Lock()
	f, err := t.root.Open(".")
	if err != nil {
		t.keys.Unlock()
		return nil, fmt.Errorf("lock token_dir: %w", err)
	}
	unlock = func() {
		_ = f.Close() // this gives the lock back
		t.keys.Unlock()
	}
	if err := lockFolder(f); err != nil {
		unlock()
		return nil, fmt.Errorf("lock token_dir: %w", err)
	}
	return unlock, nil
}

func (k APIKey) check(now time.Time) error {
	switch {
	case !apiKeyName.MatchString(k.Name) || apiKeyRef.MatchString(k.Name):
		return errors.New("the name must be letters, digits and _ . @ -, at most 64, and not 12 hexadecimal digits")
	case CheckName(k.User) != nil:
		return fmt.Errorf("user %q: %w", clip(k.User), CheckName(k.User))
	case len(k.Comment) > mostComment || !utf8.ValidString(k.Comment):
		return fmt.Errorf("the comment must be a text of at most %d bytes", mostComment)
	case !k.Expire.IsZero() && !k.Expire.After(now):
		return errors.New("it would have expired already")
	case len(k.Rights) == 0:
		return errors.New("rights are needed, for example rights='[\"test.*\"]'")
	case len(data.Repr(k.Rights)) > mostRights:
		return fmt.Errorf("the rights must have at most %d bytes", mostRights)
	}
	if _, err := parseRules(k.Rights); err != nil {
		return fmt.Errorf("rights: %w", err)
	}
	return nil
}

// CheckName says why a name cannot be that of a user: it has control characters, or a meaning of
// its own in external_auth.
func CheckName(name string) error {
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("a name has 1 to %d bytes", maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }):
		return errors.New("the name has control characters")
	case isSetting(name) || name == "*" || strings.HasSuffix(name, "%"):
		return errors.New("the name means something else in external_auth")
	}
	return nil
}

// fileOfKey returns the name of the file of a key.
func fileOfKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// KeyID returns the id that the API key with a secret has.
func KeyID(secret string) string { return fileOfKey(secret)[:apiKeyID] }

// entry returns the contents of the file of a key.
func (k APIKey) entry(file string) *data.Map {
	expire := neverExpires
	if !k.Expire.IsZero() {
		expire = Seconds(k.Expire)
	}
	return data.NewMap("start", Seconds(k.Start), "expire", expire, "name", k.User, "eauth", KeySystem,
		"auth_list", k.Rights, "key", k.Name, "comment", k.Comment, "token", file)
}

// apiKeyOf reads the entry of a key.
func apiKeyOf(m *data.Map, modified time.Time) APIKey {
	rights, _ := m.Value("auth_list").([]any)
	k := APIKey{Name: m.Text("key"), User: m.Text("name"), Rights: rights, Comment: m.Text("comment"),
		Start: Moment(m.Value("start"))}
	k.ID = m.Text("token")[:apiKeyID] // load has compared it with the name of the file
	if expire := expiry(m); expire < neverExpires {
		k.Expire = Moment(expire)
	}
	if modified.After(k.Start) {
		k.Used = modified
	}
	return k
}

// Keys returns all keys that have not expired, sorted by name.
func (t *Tokens) Keys() ([]APIKey, error) {
	files, err := t.List()
	if err != nil {
		return nil, err
	}
	var all []APIKey
	for _, file := range files {
		m, info, err := t.load(file)
		if err == nil && m.Text("eauth") == KeySystem {
			all = append(all, apiKeyOf(m, info.ModTime()))
		}
	}
	slices.SortFunc(all, func(a, b APIKey) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// DeleteKey deletes the key with an id, or all keys with a name, and returns the first of them. The error
// wraps ErrNoToken if there is none.
func (t *Tokens) DeleteKey(ref string) (APIKey, error) {
	unlock, err := t.lockKeys()
	if err != nil {
		return APIKey{}, fmt.Errorf("delete key %s: %w", clip(ref), err)
	}
	defer unlock()
	all, err := t.Keys()
	if err != nil {
		return APIKey{}, err
	}
	files, err := t.List()
	if err != nil {
		return APIKey{}, err
	}
	var gone []APIKey
	var errs []error
	for _, k := range all {
		if k.ID != ref && k.Name != ref {
			continue
		}
		at := slices.IndexFunc(files, func(file string) bool { return strings.HasPrefix(file, k.ID) })
		if at < 0 {
			continue
		}
		gone = append(gone, k)
		errs = append(errs, t.Delete(files[at]))
	}
	if len(gone) == 0 {
		return APIKey{}, fmt.Errorf("delete key %s: %w: %w", clip(ref), errNoKey, ErrNoToken)
	}
	return gone[0], errors.Join(errs...)
}

// byKey returns the entry of the key with a secret, with the secret as its token.
func (t *Tokens) byKey(secret string) (*data.Map, error) {
	file := fileOfKey(secret)
	m, info, err := t.load(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && m.Text("eauth") != KeySystem:
		return nil, ErrNoToken
	case err != nil:
		return nil, err
	}
	t.touch(file, info)
	m.Set("token", secret)
	return m, nil
}

// touchEvery is how exactly the last use of a key is known.
const touchEvery = time.Minute

// touch notes the use of a key as the time of its file. A key that was never used has the time of its
// start. The use counts even if that fails: it is for the operator's information only.
func (t *Tokens) touch(file string, info os.FileInfo) {
	if now := t.now(); now.Sub(info.ModTime()) >= touchEvery {
		_ = t.root.Chtimes(file, now, now)
	}
}

// ofKey returns the identity of who acts with a key: its own rights count, and nothing else.
func (g *Gate) ofKey(m *data.Map) *Identity {
	i := &Identity{Name: m.Text("name"), Kind: ByToken, gate: g}
	i.rules, _ = parseRules(m.Value("auth_list"))
	return i
}
