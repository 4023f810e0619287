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
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/payload"
)

// Tokens are the tokens of a master, a file each in token_dir, in the format of Salt (salt/tokens/localfs.py).
type Tokens struct {
	root  *os.Root
	hash  string
	now   func() time.Time
	count atomic.Int64 // files there may be, counted again by Clean
	most  int64
}

// ErrNoToken is returned for a token that is not there, has expired, or cannot be read.
var ErrNoToken = errors.New("no such token")

// errFull is returned by Add when there are too many tokens.
var errFull = errors.New("there are too many tokens")

// mostTokens bounds how many tokens there are at one time, about.
const mostTokens = 100_000

// tokenName is what a token looks like. What does not is never looked for.
var tokenName = regexp.MustCompile(`^[0-9a-f]{32,128}$`)

// tempToken begins the name of a token's file on its way.
const tempToken = ".token-"

// maxToken is the longest file of a token, in bytes. It has the rights of a user with keep_acl_in_token.
const maxToken = 1 << 20

// OpenTokens opens the directory of the tokens, and makes it if it is not there. hash is the algorithm that decides how long new
// tokens are (hash_type). now may be nil.
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
	if err := root.Chmod(".", 0o700); err != nil { // the names of its files are the tokens; Salt makes it readable by all
		return nil, errors.Join(fmt.Errorf("token_dir: %w", err), root.Close())
	}
	t := &Tokens{root: root, hash: hash, now: now, most: mostTokens}
	all, err := t.List()
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	t.count.Store(int64(len(all)))
	return t, nil
}

// Close gives the directory back.
func (t *Tokens) Close() error { return t.root.Close() }

// Add keeps a new token with m, in which it sets token. It refuses when there are a hundred thousand.
func (t *Tokens) Add(m *data.Map) error {
	if t.count.Load() >= t.most {
		return fmt.Errorf("keep a token: %w", errFull)
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
		return fmt.Errorf("keep a token: %w", err)
	}
	if err := t.write(name, raw); err != nil {
		return fmt.Errorf("keep a token: %w", err)
	}
	t.count.Add(1)
	return nil
}

// write puts a whole file in place of none.
func (t *Tokens) write(name string, raw []byte) error {
	return atomicfile.WriteIn(t.root, name, raw, atomicfile.Options{Prefix: tempToken})
}

// Get returns what is kept of a token. One that has expired, or cannot be read, is deleted. It has expired from the very second
// on that it names. The error wraps ErrNoToken.
func (t *Tokens) Get(name string) (*data.Map, error) {
	if !tokenName.MatchString(name) {
		return nil, ErrNoToken
	}
	raw, err := t.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoToken
	}
	if err != nil {
		return nil, fmt.Errorf("read a token: %w: %w", ErrNoToken, err)
	}
	m, err := parseToken(raw)
	if err == nil && m.Text("token") != name {
		err = errors.New("it is the file of another token")
	}
	if err == nil && expiry(m) > unix(t.now()) {
		return m, nil
	}
	err = errors.Join(err, t.Delete(name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoToken, err)
	}
	return nil, ErrNoToken
}

func (t *Tokens) read(name string) ([]byte, error) {
	f, err := openPlain(t.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err == nil && len(raw) > maxToken {
		err = errors.New("the file is too long")
	}
	return raw, err
}

// openPlain opens a file that is no pipe, device or directory.
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

// parseToken reads the file of a token. name and eauth are texts in it, and expire is a number.
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

// expiry returns when a token expires, in seconds since 1970, or 0 where it does not say.
func expiry(m *data.Map) float64 { return number(m.Value("expire")) }

// number returns a finite number, or 0.
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

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// Delete drops a token. One that is not there is no error.
func (t *Tokens) Delete(name string) error {
	if !tokenName.MatchString(name) {
		return ErrNoToken
	}
	if err := t.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete a token: %w", err)
	}
	return nil
}

// List returns the tokens there are, in order, those that have expired included.
func (t *Tokens) List() ([]string, error) {
	entries, err := fs.ReadDir(t.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	var all []string
	for _, e := range entries {
		if e.Type().IsRegular() && tokenName.MatchString(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// Clean drops tokens that have expired or cannot be read, and returns how many (salt/daemons/masterapi.py, clean_expired_tokens).
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
		if _, err := t.Get(name); errors.Is(err, ErrNoToken) {
			n++
		}
	}
	t.count.Store(int64(len(all) - n))
	return n, t.cleanTemp()
}

// cleanTemp drops what a master left that ended while it wrote a token, be it Salt's, which calls the file TOKEN.tmp, or ours.
func (t *Tokens) cleanTemp() error {
	stale, err := fs.Glob(t.root.FS(), "*.tmp")
	if err != nil {
		return err
	}
	stale = slices.DeleteFunc(stale, func(name string) bool { return !tokenName.MatchString(strings.TrimSuffix(name, ".tmp")) })
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

// NewToken keeps a token for a login, and returns what is kept: start, expire, name, eauth, token, and groups and auth_list where there are
// any. expire is how long it is to hold, in seconds, where the user may choose that. The error wraps ErrNotAuthenticated when the
// login is wrong. c comes from [FromLogin].
func (g *Gate) NewToken(ctx context.Context, c Credentials, expire any) (*data.Map, error) {
	h := g.held.Load()
	var m *data.Map
	ok := g.pace.run(ctx, c, func(ctx context.Context) bool {
		s, l, ok := g.login(ctx, h, c)
		if !ok {
			return false
		}
		life := h.life(c.Eauth, l.Name, expire)
		m = data.NewMap("start", unix(g.now()), "expire", unix(g.now())+life, "name", l.Name, "eauth", c.Eauth)
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

// mostLife is the longest life of a token that a user can ask for, in seconds.
const mostLife = 10 * 365 * 86400

// life returns how long a token holds, in seconds.
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

// Token returns what is kept of a token that holds. The error wraps ErrNoToken.
func (g *Gate) Token(token string) (*data.Map, error) { return g.tokens.Get(token) }

// DeleteToken ends a token.
func (g *Gate) DeleteToken(token string) error { return g.tokens.Delete(token) }

// Tokens returns the store of the tokens.
func (g *Gate) Tokens() *Tokens { return g.tokens }

// byToken looks at a token. The rights are those that its user has now, unless it holds them itself.
func (g *Gate) byToken(ctx context.Context, h *held, c Credentials) (*Identity, error) {
	m, err := g.tokens.Get(c.Token)
	if err != nil {
		if err != ErrNoToken { //nolint:errorlint // it is wrapped: there is a file
			g.warn("token", err, "a token cannot be used")
		}
		return nil, notAuthenticated(c)
	}
	eauth := m.Text("eauth")
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
