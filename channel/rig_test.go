package channel

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

const authFile = "04-auth.json"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// keyring holds the key pairs of a vector file by name.
type keyring map[string]*crypto.PrivateKey

func keysOf(t testing.TB, f *vectors.File) keyring {
	t.Helper()
	ring := keyring{}
	for name, v := range f.Top.Value("keys").(*data.Map).All() {
		key, err := crypto.ParsePrivateKey([]byte(v.(*data.Map).Text("pem")), "")
		must(t, err)
		ring[name.(string)] = key
	}
	return ring
}

func (k keyring) pub(name string) string { return k[name].Public().PEM() }

// fakeRequest is a request without a transport.
type fakeRequest struct {
	body    []byte
	mu      sync.Mutex
	reply   []byte
	replies int
	trusted bool
}

func (r *fakeRequest) Body() []byte     { return r.body }
func (r *fakeRequest) Remote() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 40000} }
func (r *fakeRequest) Session() any     { return nil }
func (r *fakeRequest) SetSession(any)   {}
func (r *fakeRequest) Trust()           { r.trusted = true }
func (r *fakeRequest) Reply(body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply, r.replies = body, r.replies+1
	return nil
}

// stub is a handler whose commands are functions; it notes what reaches it.
type stub struct {
	encrypted func(*Command) (any, error)
	clear     func(*Command) (any, error)
	proof     map[string]bool
	effect    map[string]bool

	mu    sync.Mutex
	calls []Command
}

func (s *stub) note(c *Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, *c)
}

func (s *stub) seen() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Command(nil), s.calls...)
}

func (s *stub) Clear(_ context.Context, c *Command) (any, error) {
	s.note(c)
	if s.clear == nil {
		return nil, ErrUnknownCommand
	}
	return s.clear(c)
}

func (s *stub) Encrypted(_ context.Context, c *Command) (any, error) {
	s.note(c)
	if s.encrypted == nil {
		return nil, ErrUnknownCommand
	}
	return s.encrypted(c)
}

func (s *stub) NeedsProof(cmd string) bool { return s.proof[cmd] }
func (s *stub) Effect(cmd string) bool     { return s.effect[cmd] }

// rig is a master without sockets.
type rig struct {
	t       testing.TB
	ring    keyring
	pki     *pki.Dir
	root    *os.Root
	secrets *Secrets
	signIn  *SignInServer
	server  *Server
	handler *stub
	logs    *logtest.Hook

	mu     sync.Mutex
	events []*data.Map
}

type rigOptions struct {
	ring    keyring
	master  string // name of the master's key
	signIn  SignInOptions
	server  ServerOptions
	session string // the shared key; empty for a random one
	life    time.Duration
}

func newRig(t testing.TB, o rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, ring: o.ring, handler: &stub{}}
	if r.ring == nil {
		r.ring = keysOf(t, vectors.Load(t, authFile))
	}
	if o.master == "" {
		o.master = "master"
	}
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	r.logs = hook
	dir := t.TempDir()
	var err error
	r.pki, err = pki.Open(filepath.Join(dir, "pki"), pki.Options{})
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "sessions"), 0o700))
	r.root, err = os.OpenRoot(filepath.Join(dir, "sessions"))
	must(t, err)
	t.Cleanup(func() { r.root.Close() })
	r.secrets, err = NewSecrets(r.root, o.life)
	must(t, err)
	if o.session != "" {
		r.secrets.shared, err = crypto.NewCrypticle(o.session)
		must(t, err)
	}
	o.signIn.Log, o.server.Log = log, log
	o.signIn.OnEvent = func(m *data.Map) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, m)
	}
	if o.signIn.PublishPort == 0 {
		o.signIn.PublishPort = 4505
	}
	r.signIn = NewSignInServer(r.ring[o.master], r.pki, r.secrets, o.signIn)
	r.server = NewServer(r.ring[o.master], r.pki, r.secrets, r.signIn, r.handler, o.server)
	return r
}

// accept stores a key as accepted.
func (r *rig) accept(id, key string) {
	r.t.Helper()
	must(r.t, r.pki.Put(pki.Accepted, id, r.ring.pub(key)))
}

// ask hands one request to the server and returns the reply.
func (r *rig) ask(body []byte) []byte {
	r.t.Helper()
	req := &fakeRequest{body: body}
	r.server.Handle(context.Background(), req)
	if req.replies != 1 || len(req.reply) == 0 {
		r.t.Fatalf("%d replies, the last of %d bytes", req.replies, len(req.reply))
	}
	return req.reply
}

func (r *rig) logged() string {
	var b strings.Builder
	for _, e := range r.logs.AllEntries() {
		b.WriteString(e.Message + " ")
		if err, ok := e.Data[logrus.ErrorKey].(error); ok {
			b.WriteString(err.Error())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wire carries a client's requests to fn.
type wire func(ctx context.Context, body []byte) ([]byte, error)

// Do gives both sides memory of their own, as a network does.
func (w wire) Do(ctx context.Context, body []byte) ([]byte, error) {
	reply, err := w(ctx, bytes.Clone(body))
	return bytes.Clone(reply), err
}
func (w wire) Close() error { return nil }

// direct carries requests to the server of a rig.
func (r *rig) direct() transport.Requester {
	return wire(func(ctx context.Context, body []byte) ([]byte, error) {
		req := &fakeRequest{body: body}
		r.server.Handle(ctx, req)
		return req.reply, nil
	})
}

// memoryKeys are the keys that a minion keeps.
type memoryKeys struct {
	mu              sync.Mutex
	master, signing string
}

func (k *memoryKeys) Master() (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.master, nil
}

func (k *memoryKeys) SetMaster(before, pem string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.master != before && !crypto.SameKey(k.master, before) {
		return pki.ErrChanged
	}
	k.master = pem
	return nil
}

func (k *memoryKeys) Signing() ([]string, error) {
	if k.signing == "" {
		return nil, errors.New("no signing key")
	}
	return strings.Split(k.signing, ","), nil
}

func (r *rig) client(id, key string, out transport.Requester, o ClientOptions) *Client {
	r.t.Helper()
	return newTestClient(r.t, r.ring[key], &memoryKeys{}, id, out, o)
}

func newTestClient(
	t testing.TB, key *crypto.PrivateKey, keys Keys, id string, out transport.Requester, o ClientOptions,
) *Client {
	t.Helper()
	o.ID = id
	c, err := NewClient(key, keys, out, o)
	must(t, err)
	return c
}

func decoded(t testing.TB, b []byte) any {
	t.Helper()
	v, err := payload.Unmarshal(b, payload.WireLimits())
	if err != nil {
		t.Fatalf("decode %.100q: %v", b, err)
	}
	return v
}

func asMap(t testing.TB, v any) *data.Map {
	t.Helper()
	m, ok := v.(*data.Map)
	if !ok {
		t.Fatalf("%s is no map", data.Repr(v))
	}
	return m
}

func rawField(m *data.Map, name string) []byte {
	switch v := m.Value(name).(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}
