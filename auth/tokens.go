package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/payload"
)

// Tokens stores the tokens of a master, one file each in token_dir, in Salt's format
// (salt/tokens/localfs.py).
type Tokens struct {
	root   *os.Root
	hash   string
	now    func() time.Time
	census *census
	keys   sync.Mutex // held by who makes or deletes API keys; see lockKeys
}

// ErrNoToken is returned if a token does not exist, has expired, or cannot be read.
var ErrNoToken = errors.New("no such token")

// An ExpiredError is returned for a token that is found after its end, which is then deleted. It wraps
// ErrNoToken.
type ExpiredError struct {
	User, System string // name and eauth of the token
	Expire       time.Time
}

// Error returns the text, without the token.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("a token of %s (%s) has expired at %s", clip(e.User), clip(e.System), e.Expire.UTC().Format(time.RFC3339))
}

// Unwrap returns ErrNoToken.
func (e *ExpiredError) Unwrap() error { return ErrNoToken }

// errFull is returned by Add if there are too many tokens.
var errFull = errors.New("there are too many tokens")

// mostTokens is the approximate maximum number of tokens, mostTokensOfName that of one user.
const (
	mostTokens       = 100_000
	mostTokensOfName = 5_000
)

// IsTokenName reports whether a text can be a token, and so the name of a file of the store. Other
// names are never looked up.
func IsTokenName(s string) bool {
	return len(s) >= 32 && len(s) <= 128 && strings.Trim(s, "0123456789abcdef") == ""
}

// tempToken is the prefix of temporary token files.
const tempToken = ".token-"

// MaxToken is the maximum size of a token file in bytes. With keep_acl_in_token it includes the
// rights of the user.
const MaxToken = 1 << 20

// OpenTokens opens the token directory, and creates it if needed. hash is the algorithm that
// determines the length of new tokens (hash_type). now may be nil.
func OpenTokens(dir, hash string, now func() time.Time) (*Tokens, error) {
	if now == nil {
		now = time.Now
	}
	if _, err := crypto.NewHash(hash); err != nil {
		return nil, fmt.Errorf("hash_type: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("token_dir: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("token_dir: %w", err)
	}
	// its file names are the tokens; Salt makes it world-readable
	if err := root.Chmod(".", 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("token_dir: %w", err), root.Close())
	}
	return &Tokens{root: root, hash: hash, now: now, census: newCensus()}, nil
}

// Close closes the directory.
func (t *Tokens) Close() error { return t.root.Close() }

// Add stores m under a new token and sets the field token of m. It fails if there are mostTokens
// already, or mostTokensOfName of the user of m.
func (t *Tokens) Add(m *data.Map) error {
	if err := t.room(holderOf(m)); err != nil {
		return fmt.Errorf("store token: %w", err)
	}
	h, err := crypto.NewHash(t.hash)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(h, rand.Reader, 512); err != nil {
		return err
	}
	name := hex.EncodeToString(h.Sum(nil))
	m.Set("token", name)
	raw, err := payload.Marshal(m)
	if err != nil {
		return fmt.Errorf("store token: %w", err)
	}
	if err := t.write(name, raw); err != nil {
		return fmt.Errorf("store token: %w", err)
	}
	t.census.add(name, holderOf(m))
	return nil
}

// write creates a file atomically.
func (t *Tokens) write(name string, raw []byte) error {
	return atomicfile.WriteIn(t.root, name, raw, atomicfile.Options{Prefix: tempToken})
}

// WriteToken writes a file of another member's store into the token directory, as the store itself
// writes it, and flushes its content to disk. modified is the time of the file, which tells when an
// API key was used last. The name must be one that IsTokenName accepts.
func WriteToken(dir *os.Root, name string, raw []byte, modified time.Time) error {
	if !IsTokenName(name) {
		return errors.New("write a token: it is no name of a token")
	}
	err := atomicfile.WriteIn(dir, name, raw, atomicfile.Options{Prefix: tempToken, Sync: true})
	if err == nil {
		err = dir.Chtimes(name, modified, modified)
	}
	if err != nil {
		return fmt.Errorf("write a token: %w", err)
	}
	return nil
}

// Get returns the contents of a token, or of the API key with this secret. Expired and unreadable
// tokens are deleted. A token is expired from the second of its expiry time on. The error wraps
// ErrNoToken.
func (t *Tokens) Get(name string) (*data.Map, error) {
	if !IsTokenName(name) {
		return nil, ErrNoToken
	}
	m, _, err := t.load(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t.byKey(name)
	case err == nil && m.Text("eauth") == KeySystem:
		return nil, ErrNoToken // this is the name of a key's file, not its secret
	}
	return m, err
}

// load returns the contents of a file of the store. Files that have expired or cannot be parsed are
// deleted. The error wraps ErrNoToken, or fs.ErrNotExist if there is no such file.
func (t *Tokens) load(name string) (*data.Map, os.FileInfo, error) {
	raw, info, err := t.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read a token: %w: %w", ErrNoToken, err)
	}
	m, err := parseToken(raw)
	if err == nil && m.Text("token") != name {
		err = errors.New("it is the file of another token")
	}
	if err == nil && expiry(m) > Seconds(t.now()) {
		return m, info, nil
	}
	expired := err == nil
	err = errors.Join(err, t.Delete(name))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNoToken, err)
	}
	if expired {
		return nil, nil, &ExpiredError{m.Text("name"), m.Text("eauth"), Moment(expiry(m))}
	}
	return nil, nil, ErrNoToken
}

func (t *Tokens) read(name string) ([]byte, os.FileInfo, error) {
	f, err := openPlain(t.root, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxToken+1))
	if err == nil && len(raw) > MaxToken {
		err = errors.New("the file is too long")
	}
	return raw, info, err
}

// openPlain opens a file unless it is a pipe, device or directory.
func openPlain(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	return root.Open(name)
}

// parseToken parses a token file. name and eauth must be strings, and expire a number.
func parseToken(raw []byte) (*data.Map, error) {
	v, err := payload.Unmarshal(raw, payload.WireLimits())
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errors.New("it is no map")
	}
	for _, field := range []string{"name", "eauth"} {
		if m.Text(field) == "" {
			return nil, fmt.Errorf("%s is missing in it", field)
		}
	}
	if expiry(m) <= 0 {
		return nil, errors.New("expire is missing in it")
	}
	return m, nil
}

// expiry returns when a token expires, in seconds since 1970, or 0 if it does not say.
func expiry(m *data.Map) float64 { return number(m.Value("expire")) }

// TokenExpiry returns when the token in a file expires, at the latest at the end of the year 9999. ok is
// false for a file that is none of a token.
func TokenExpiry(raw []byte) (at time.Time, ok bool) {
	m, err := parseToken(raw)
	if err != nil {
		return at, false
	}
	return Moment(min(expiry(m), neverExpires)), true
}

// number returns v as a finite number, or 0.
func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	return 0
}

// Delete deletes a token, or the API key with this secret. A missing one is not an error.
func (t *Tokens) Delete(name string) error {
	if !IsTokenName(name) {
		return ErrNoToken
	}
	err := t.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.census.remove(name)
		name = fileOfKey(name)
		err = t.root.Remove(name)
	}
	if err == nil {
		t.census.remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete a token: %w", err)
	}
	return nil
}

// List returns all tokens, sorted, including expired ones.
func (t *Tokens) List() ([]string, error) {
	entries, err := fs.ReadDir(t.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	var all []string
	for _, e := range entries {
		if e.Type().IsRegular() && IsTokenName(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// Clean deletes expired and unreadable tokens, and returns their number (salt/daemons/masterapi.py,
// clean_expired_tokens).
func (t *Tokens) Clean(ctx context.Context) (int, error) {
	all, err := t.List()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, name := range all {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		if _, _, err := t.load(name); err != nil {
			n++
		}
	}
	return n, t.cleanTemp()
}

// cleanTemp deletes temporary files left by a master that ended while it wrote a token: Brine's,
// and Salt's, which are named TOKEN.tmp.
func (t *Tokens) cleanTemp() error {
	stale, err := fs.Glob(t.root.FS(), "*.tmp")
	if err != nil {
		return err
	}
	stale = slices.DeleteFunc(stale,
		func(name string) bool { return !IsTokenName(strings.TrimSuffix(name, ".tmp")) })
	ours, err := fs.Glob(t.root.FS(), tempToken+"*")
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range append(stale, ours...) {
		if info, err := t.root.Lstat(name); err == nil && t.now().Sub(info.ModTime()) > time.Hour {
			errs = append(errs, t.root.Remove(name))
		}
	}
	return errors.Join(errs...)
}

// NewToken creates a token for a login. It returns the contents: start, expire, name, eauth, token,
// and groups and auth_list if there are any. expire is the requested lifetime in seconds, used if
// the user may choose it. The error wraps ErrNotAuthenticated if the login is refused. c must come
// from [FromLogin].
func (g *Gate) NewToken(ctx context.Context, c Credentials, expire any) (*data.Map, error) {
	h := g.held.Load()
	var m *data.Map
	ok := g.pace.run(ctx, c, func(ctx context.Context) bool {
		s, l, ok := g.login(ctx, h, c)
		if !ok {
			return false
		}
		life := h.life(c.Eauth, l.Name, expire)
		m = data.NewMap("start", Seconds(g.now()), "expire", Seconds(g.now())+life, "name", l.Name,
			"eauth", c.Eauth)
		if h.KeepACLInToken {
			if list, ok := h.ownRules(ctx, g, s, l); ok {
				m.Set("auth_list", list)
			} else {
				m.Set("auth_list", nil)
			}
		}
		if groups := groupsOf(ctx, g, s, l); len(groups) > 0 {
			m.Set("groups", data.Values(groups))
		}
		return true
	})
	if !ok {
		return nil, notAuthenticated(c)
	}
	return m, g.tokens.Add(m)
}

// mostLife is the maximum lifetime that a user can request for a token, in seconds.
const mostLife = 10 * 365 * 86400

// life returns the lifetime of a token in seconds.
func (h *held) life(system, user string, asked any) float64 {
	if n := number(asked); n > 0 && h.mayChooseLife(system, user) {
		return min(n, mostLife)
	}
	return h.TokenExpire.Seconds()
}

func (h *held) mayChooseLife(system, user string) bool {
	switch o := h.TokenExpireOverride.(type) {
	case bool:
		return o
	case *data.Map:
		return slices.Contains(names(o.Value(system)), user)
	}
	return false
}

// Token returns the contents of a valid token. The error wraps ErrNoToken.
func (g *Gate) Token(token string) (*data.Map, error) { return g.tokens.Get(token) }

// DeleteToken deletes a token.
func (g *Gate) DeleteToken(token string) error { return g.tokens.Delete(token) }

// Tokens returns the token store.
func (g *Gate) Tokens() *Tokens { return g.tokens }

// byToken authenticates with a token. The user has their current rights, unless the token contains
// its own.
func (g *Gate) byToken(ctx context.Context, h *held, c Credentials) (*Identity, error) {
	m, err := g.tokens.Get(c.Token)
	if err != nil {
		if err != ErrNoToken { //nolint:errorlint // a wrapped error: the file exists
			g.warn("token", err, "a token cannot be used")
		}
		return nil, notAuthenticated(c)
	}
	eauth := m.Text("eauth")
	if eauth == KeySystem {
		return g.ofKey(m), nil
	}
	s, err := h.system(eauth)
	if err != nil {
		g.warn("token", err, "a token cannot be used")
		return nil, notAuthenticated(c)
	}
	i := &Identity{Name: m.Text("name"), Kind: ByToken, gate: g}
	if list := m.Value("auth_list"); h.KeepACLInToken && list != nil {
		i.rules, _ = parseRules(list)
		return i, nil
	}
	i.rules = h.rightsOf(ctx, g, eauth, s, Login{Name: i.Name}, names(m.Value("groups")))
	return i, nil
}
