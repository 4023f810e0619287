package vault

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

// A Session is the access of one minion, or of a master itself, to its Vault in one job.
type Session struct {
	env  *loader.Env
	kept *kept
}

// Of returns the session of the job that ctx belongs to, with the options of env. All sessions of a
// minion in one job share a token.
func Of(ctx context.Context, env *loader.Env) *Session {
	job, key := loader.ContextOf(ctx), "vault.session\x00"+minionID(env)
	k, ok := job.Get(key)
	if found, isKept := k.(*kept); ok && isKept {
		return &Session{env, found}
	}
	s := &Session{env, &kept{mounts: data.NewMap()}}
	job.Set(key, s.kept)
	return s
}

// minionID returns the id in the grains, which is empty in a master's own calls.
func minionID(env *loader.Env) string { return env.GrainsNow().Text("id") }

// kept is what a job remembers: Salt's __context__.
type kept struct {
	mu     sync.Mutex
	conn   *connection
	client *Client
	mounts *data.Map   // descriptions of mounts by path
	memory atomic.Bool // the master ordered token_backend session: nothing is saved
}

// A connection is a token and where it counts.
type connection struct {
	address
	token     string
	uses      any // left, int64; nil if unknown
	unlimited any // nil until the connection was saved, then whether the token has no limit of uses
	lease     int64
	issued    int64
}

// usable reports whether a saved token is valid for 10 seconds more.
func (c *connection) usable(now time.Time) bool { return c.issued+c.lease-10 >= now.Unix() }

// Request sends a request with the token of the session. path follows v1/. If the token is refused, a
// new one is tried once (vault.make_request).
func (s *Session) Request(ctx context.Context, method, path string, payload any) (*Answer, error) {
	for again := false; ; again = true {
		conn, err := s.connection(ctx)
		if err != nil {
			return nil, err
		}
		a, err := s.send(ctx, conn, method, path, payload)
		if err != nil {
			return nil, err
		}
		switch {
		case a.denied() && !again:
			s.env.Log.Info("Permission denied from vault")
			if err := s.Forget(); err != nil {
				return nil, err
			}
			continue
		case a.denied():
			s.env.Log.Errorf("Unable to connect to vault server: %s", errorTexts(a))
			return a, s.Forget()
		case !a.OK():
			s.env.Log.Errorf("Error from vault: %s", errorTexts(a))
			return a, nil
		}
		return a, s.used(conn, path)
	}
}

func (s *Session) send(
	ctx context.Context, conn *connection, method, path string, payload any,
) (*Answer, error) {
	client, err := s.client(conn.address)
	if err != nil {
		return nil, err
	}
	return client.Do(ctx, method, path, conn.token, payload)
}

// client returns the client of the job for an address. Its connections end when they are idle.
func (s *Session) client(a address) (*Client, error) {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	if c := s.kept.client; c != nil && c.address == a {
		return c, nil
	}
	c, err := newClient(a)
	s.kept.client = c
	return c, err
}

// errorTexts returns the errors in an answer, and never the rest of it.
func errorTexts(a *Answer) string {
	return "HTTP " + data.Str(int64(a.Status)) + " " + data.Repr(a.Body.Value("errors"))
}

// KV returns the paths of a secret. If Vault does not describe its mount they are those of version 1
// (vault.is_v2).
func (s *Session) KV(ctx context.Context, path string) KV {
	path = strings.TrimLeft(path, "/")
	if known := s.knownMount(path); known != nil {
		return kvOf(path, known)
	}
	a, err := s.Request(ctx, "GET", mountsPath+path, nil)
	if err != nil {
		s.env.Log.Errorf("Failed to get secret metadata of %s: %v", path, err)
		return kvOf(path, nil)
	}
	mount := mountOf(a)
	if mount == nil {
		s.env.Log.Errorf("Failed to get secret metadata of %s: HTTP %d", path, a.Status)
		return kvOf(path, nil)
	}
	s.keepMount(path, mount)
	return kvOf(path, mount)
}

// knownMount returns the description of the mount of a path, or nil.
func (s *Session) knownMount(path string) *data.Map {
	s.kept.mu.Lock()
	all := s.kept.mounts.Clone()
	s.kept.mu.Unlock()
	if !s.memory() {
		saved, _ := s.read()
		all.Update(saved.mounts)
	}
	for of, v := range all.All() {
		mount, _ := v.(*data.Map)
		at := strings.TrimRight(mount.Text("path"), "/")
		if data.Str(of) == path || at != "" && strings.HasPrefix(path+"/", at+"/") {
			return mount
		}
	}
	return nil
}

func (s *Session) keepMount(path string, mount *data.Map) {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	if s.kept.mounts.Len() >= maxMounts {
		s.kept.mounts = data.NewMap()
	}
	s.kept.mounts.Set(path, mount)
	if s.memory() {
		return
	}
	saved, err := s.read()
	if err == nil {
		saved.mounts.Set(path, mount)
		err = s.write(saved)
	}
	if err != nil {
		s.env.Log.WithError(err).Error("Failed to cache vault information")
	}
}

// memory reports whether nothing may be saved: on a master, where minions must not share tokens, and
// with token_backend session.
func (s *Session) memory() bool { return s.onMaster() || s.kept.memory.Load() }

func (s *Session) onMaster() bool { return s.env.Opts.Text("__role") == "master" }

// connection returns the token of the job, or the saved one, or a new one.
func (s *Session) connection(ctx context.Context) (*connection, error) {
	s.kept.mu.Lock()
	conn := s.kept.conn
	s.kept.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	if !s.memory() {
		saved, err := s.read()
		if err != nil {
			return nil, err
		}
		if saved.conn != nil && saved.conn.usable(time.Now()) {
			return saved.conn, nil
		}
	}
	conn, err := s.connect(ctx)
	if err == nil {
		s.keep(conn)
	}
	return conn, err
}

// keep keeps a token for the job, or saves it (vault.write_cache).
func (s *Session) keep(conn *connection) {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	if s.memory() || conn.uses == int64(1) && conn.unlimited == nil {
		s.kept.conn = conn
		return
	}
	saved, err := s.read()
	if err == nil {
		conn.unlimited = conn.uses == int64(0)
		saved.conn = conn
		err = s.write(saved)
	}
	if err != nil {
		s.env.Log.WithError(err).Error("Failed to cache vault information")
		s.kept.conn = conn
	}
}

// used counts a use of a token. Vault's own paths do not count, as in Salt.
func (s *Session) used(conn *connection, path string) error {
	uses, ok := conn.uses.(int64)
	if !ok || conn.unlimited == true || s.memory() && uses == 0 || strings.HasPrefix(path, "sys") {
		return nil
	}
	if uses <= 1 {
		return s.Forget()
	}
	left := *conn
	left.uses = uses - 1
	s.keep(&left)
	return nil
}

// Forget removes the token of the job and the saved one.
func (s *Session) Forget() error {
	s.kept.mu.Lock()
	s.kept.conn = nil
	s.kept.mu.Unlock()
	if s.memory() {
		return nil
	}
	_, err := ClearCache(s.env)
	return err
}

// ClearCache removes the saved token of a minion, and reports whether there was one.
func ClearCache(env *loader.Env) (bool, error) {
	err := os.Remove(cacheFile(env))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// connect returns a new connection (vault.get_vault_connection).
func (s *Session) connect(ctx context.Context) (*connection, error) {
	c, err := Load(ctx, s.env.Opts, s.env.Call)
	if err != nil {
		return nil, err
	}
	switch {
	case c.location != "" && c.location != "local" && c.location != "master":
		return nil, loader.Execution("config_location must be either local or master")
	case c.location == "local":
		return s.local(ctx, c)
	case c.location == "master":
		return s.fromMaster(ctx, c)
	case c.set && s.onMaster() && minionID(s.env) == "":
		return s.local(ctx, c)
	case !s.onMaster() && s.masterless():
		return s.local(ctx, c)
	}
	return s.fromMaster(ctx, c)
}

func (s *Session) masterless() bool {
	return data.Truth(s.env.Option("local")) || s.env.Option("file_client") == "local" ||
		s.env.Option("master_type") == "disable"
}

// localLease is the time in seconds for which a token of the configured login is saved, as in Salt.
const localLease = 3600

// local returns a connection with the configured login.
func (s *Session) local(ctx context.Context, c *Config) (*connection, error) {
	if err := c.Usable(); err != nil {
		return nil, err
	}
	client, err := newClient(c.address)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	token, err := s.logIn(ctx, client, c)
	if err != nil {
		return nil, err
	}
	return &connection{address: c.address, token: token, lease: localLease,
		issued: time.Now().Unix()}, nil
}

// logIn returns the token of the configured login. As in Salt a token that is set too serves an
// approle while it is valid, and a token that is not wrapped counts as unwrapped.
func (s *Session) logIn(ctx context.Context, client *Client, c *Config) (string, error) {
	check, method, failed := "", "", ""
	switch c.method {
	case "approle":
		check, method = "auth/token/lookup-self", "GET"
		failed = "An error occurred while getting a token from approle"
	case "wrapped_token":
		check, method = "sys/wrapping/lookup", "POST"
		failed = "An error occured while unwrapping vault token"
	default:
		return c.token, nil
	}
	valid := false
	if c.token != "" {
		a, err := client.Do(ctx, method, check, c.token, nil)
		if err != nil {
			return "", loader.Execution("Error while looking up the token of the method %s : %w", c.method, err)
		}
		valid = a.Status == 200
	}
	if (c.method == "approle") == valid {
		return c.token, nil
	}
	a, err := client.logIn(ctx, c)
	if err != nil {
		return "", err
	}
	auth, _ := a.Body.Value("auth").(*data.Map)
	if a.Status != 200 || auth.Text("client_token") == "" {
		return "", loader.Execution("%s", failed)
	}
	return auth.Text("client_token"), nil
}

// fromMaster returns a connection with a token of the master's runner vault.generate_token. The
// request is signed with the key of the minion, or on a master with the master's own.
func (s *Session) fromMaster(ctx context.Context, c *Config) (*connection, error) {
	result, err := s.generate(ctx, c)
	if err != nil {
		return nil, err
	}
	answer, ok := result.(*data.Map)
	switch {
	case !data.Truth(result):
		s.env.Log.Error("Failed to get token from master! No result returned - " +
			"is the peer publish configuration correct?")
		return nil, loader.Execution("no token from the master: its option peer_run does not allow " +
			"vault.generate_token to this minion")
	case !ok:
		s.env.Log.Errorf("Failed to get token from master! Response is not a dict: %s", data.Str(result))
		return nil, loader.Execution("%s", data.Str(result))
	case answer.Has("error"):
		s.env.Log.Errorf("Failed to get token from master! An error was returned: %s",
			data.Str(answer.Value("error")))
		return nil, loader.Execution("%s", data.Repr(answer))
	}
	conn, backend := connectionOf(answer)
	if conn == nil {
		return nil, loader.Execution("Failed to get token from master! The answer has no url or no token")
	}
	if strings.Contains(backend, "session") {
		s.kept.memory.Store(true)
	}
	conn.verify = s.verify(c, conn.verify)
	return conn, nil
}

// verify returns whom to trust: the minion's own option, else that of the master if this host has
// the file.
func (s *Session) verify(c *Config, master any) any {
	if c.verify != nil {
		return c.verify
	}
	if path, ok := master.(string); ok {
		if _, err := os.Stat(path); err != nil {
			return nil
		}
	}
	return master
}

// connectionOf returns the connection in an answer of vault.generate_token, and where the token may be
// kept; nil if the answer has none.
func connectionOf(answer *data.Map) (conn *connection, backend string) {
	conn = &connection{address: address{url: strings.TrimRight(answer.Text("url"), "/"),
		namespace: answer.Text("namespace"), verify: verifyOf(answer.Value("verify"))},
		token: answer.Text("token"), uses: int64(1)}
	conn.lease, _ = answer.Value("lease_duration").(int64)
	conn.issued, _ = answer.Value("issued").(int64)
	if v, ok := answer.Get("uses"); ok {
		conn.uses = v
	}
	backend = "session"
	if v, ok := answer.Get("token_backend"); ok {
		backend = data.Str(v)
	}
	if conn.url == "" || conn.token == "" {
		return nil, ""
	}
	return conn, backend
}

// generate calls the runner vault.generate_token.
func (s *Session) generate(ctx context.Context, c *Config) (any, error) {
	id := minionID(s.env)
	if id == "" {
		id = s.env.Opts.Text("id")
	}
	if !s.onMaster() {
		sig, err := s.sign("minion.pem", "", id)
		if err != nil {
			return nil, err
		}
		return s.env.Call(ctx, "publish.runner", []any{"vault.generate_token",
			[]any{id, sig, false, c.ttl, c.uses}}, nil)
	}
	passphrase, _ := s.env.Option("key_pass").(string)
	sig, err := s.sign("master.pem", passphrase, id)
	if err != nil {
		return nil, err
	}
	result, err := s.env.Registry("runners").Invoke(ctx, "vault.generate_token", nil,
		data.NewMap("minion_id", id, "signature", sig, "impersonated_by_master", true, "ttl", c.ttl,
			"uses", c.uses))
	if err != nil {
		return nil, loader.Execution("get a token for the minion: %w", err)
	}
	return result, nil
}

// sign returns a signature of the id in base64, as bytes: Salt would take a text for an argument with
// a name if it had an equals sign.
func (s *Session) sign(file, passphrase, id string) ([]byte, error) {
	path := filepath.Join(s.env.Opts.Text("pki_dir"), file)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.Execution("sign the request for a token of Vault: %w", err)
	}
	key, err := crypto.ParsePrivateKey(text, passphrase)
	if err != nil {
		return nil, loader.Execution("sign the request for a token of Vault with %s: %w", path, err)
	}
	sig, err := key.Sign([]byte(id), crypto.SHA1Sign)
	if err != nil {
		return nil, loader.Execution("sign the request for a token of Vault: %w", err)
	}
	return encodeSignature(sig), nil
}

// stored is what the file salt_vault_token holds.
type stored struct {
	conn   *connection // nil if there is none
	mounts *data.Map
}

func cacheFile(env *loader.Env) string {
	return filepath.Join(env.Opts.Text("cachedir"), "salt_vault_token")
}

// maxSaved is the limit of the file, in bytes.
const maxSaved = 4 << 20

// mountsKey is the name under which the file has the descriptions of mounts.
const mountsKey = "vault_secret_path_metadata"

// read returns the saved connection. A missing or damaged file has none.
func (s *Session) read() (stored, error) {
	f, err := os.Open(cacheFile(s.env))
	if errors.Is(err, fs.ErrNotExist) {
		return stored{mounts: data.NewMap()}, nil
	}
	if err != nil {
		return stored{mounts: data.NewMap()}, err
	}
	defer f.Close()
	text := make([]byte, 0, 4096)
	if text, err = readAll(f, text); err != nil {
		return stored{mounts: data.NewMap()}, err
	}
	return parseSaved(text), nil
}

// parseSaved parses the file that Salt writes too.
func parseSaved(text []byte) stored {
	out := stored{mounts: data.NewMap()}
	v, err := pyjson.Load(string(text))
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return out
	}
	if all, ok := m.Value(mountsKey).(*data.Map); ok {
		out.mounts = all
	}
	conn, _ := connectionOf(m)
	if conn == nil {
		return out
	}
	if ttl, ok := m.Value("ttl").(int64); ok && !m.Has("lease_duration") {
		conn.lease = ttl
	}
	conn.uses, conn.unlimited = m.Value("uses"), m.Value("unlimited_use_token")
	out.conn = conn
	return out
}

// write replaces the file, which only the minion's user can read.
func (s *Session) write(v stored) error {
	m := data.NewMap()
	if c := v.conn; c != nil {
		m = data.NewMap("url", c.url, "token", c.token, "verify", c.verify, "namespace", nil,
			"lease_duration", c.lease, "issued", c.issued, "unlimited_use_token", c.unlimited)
		if c.namespace != "" {
			m.Set("namespace", c.namespace)
		}
		if c.uses != nil {
			m.Set("uses", c.uses)
		}
	}
	if v.mounts.Len() > 0 {
		m.Set(mountsKey, v.mounts)
	}
	text, err := pyjson.Append(nil, m, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		return loader.Execution("save the token of Vault: a value has no form in JSON")
	}
	if err := atomicfile.Write(cacheFile(s.env), text, atomicfile.Options{Mode: 0o600}); err != nil {
		return loader.Execution("save the token of Vault: %w", err)
	}
	return nil
}

// readAll reads a file of limited size.
func readAll(f io.Reader, into []byte) ([]byte, error) {
	b := bytes.NewBuffer(into)
	n, err := b.ReadFrom(io.LimitReader(f, maxSaved+1))
	if err == nil && n > maxSaved {
		err = fmt.Errorf("salt_vault_token has more than %d bytes", maxSaved)
	}
	return b.Bytes(), err
}

func encodeSignature(sig []byte) []byte {
	return base64.StdEncoding.AppendEncode(nil, sig)
}
