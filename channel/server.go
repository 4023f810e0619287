package channel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

// ErrUnknownCommand is returned by a [Handler] for a command that it does not have.
var ErrUnknownCommand = errors.New("unknown command")

// A Command is one request, after everything that its sender claims of itself has been checked.
type Command struct {
	Name    string
	Load    payload.Fields // what was sent, without cmd's proofs (tok, nonce); not decoded, and shares memory with the request
	Body    []byte         // where the values of Load lie, for who wants to write over them; nil for a clear command
	Size    int            // bytes of a clear request, which stay in memory until the reply
	Caller  Caller
	Version int    // protocol version of the request
	EncAlgo string // names that a private reply is to use
	SigAlgo string
}

// A Caller is who sent a command.
type Caller struct {
	ID     string   // the minion; the empty text for a clear command
	Proved bool     // the minion proved to be ID in this very request
	Remote net.Addr // where the request came from
}

// A Handler does the commands.
type Handler interface {
	// Clear does a command that came unencrypted; nothing is known of its sender. A value of its load may be as large as one
	// of a known sender, so it must not be decoded before the sender is identified, unless within payload.PreAuthLimits. The
	// reply is sent as it is.
	Clear(ctx context.Context, c *Command) (reply any, err error)
	// Encrypted does a command of a minion. The reply is encrypted for it. A [Private] reply is sealed for the
	// minion's own key besides.
	Encrypted(ctx context.Context, c *Command) (reply any, err error)
	// NeedsProof reports whether an encrypted command is only for callers that proved their id.
	NeedsProof(cmd string) bool
	// Effect reports whether an encrypted command changes anything, so that a repetition must not be done again.
	Effect(cmd string) bool
}

// Private is a reply that only the holder of the minion's private key may read, as pillar is
// (salt/channel/server.py, _encrypt_private).
type Private struct {
	Name  string // the name of the value in the reply: "pillar"
	Value any
}

// Versions are the highest versions of the protocol by which minions proved their ids, over restarts of the master.
// [pki.Versions] keeps them.
type Versions interface {
	// Proved tells that minion id proved to hold key in a request of a version.
	Proved(id string, key *crypto.PublicKey, version int)
	// Highest returns the highest version by which minion id proved to hold key, 0 where it never did.
	Highest(id string, key *crypto.PublicKey) int
}

// ServerOptions say how a [Server] treats its callers.
type ServerOptions struct {
	Admission Admission
	MaxReturn int                            // longest message of a caller that is known, in bytes; 0 means 100 MiB
	OnRequest func(id string, from net.Addr) // told of each proved request; nil is not told
	Versions  Versions                       // unproved requests of versions below that of their minion are refused; nil refuses none
	Log       logrus.FieldLogger
}

// Admission says which requests a [Server] takes.
type Admission struct {
	MinimumVersion int           // requests of older versions are refused (minimum_auth_version)
	RequestTTL     time.Duration // how old a version 3 request may be, and none may be 5 min ahead; 0 does not look (request_server_ttl)
}

// A Server answers the request port of a master.
type Server struct {
	opts     ServerOptions
	admits   atomic.Pointer[Admission]
	keys     *pki.Dir
	key      atomic.Pointer[crypto.PrivateKey]
	secrets  *Secrets
	signIn   *SignIn
	handler  Handler
	seen     *nonces
	proofs   *proofs
	told     loglimit.Limiter
	versions loglimit.Limiter // warnings of old protocol versions
}

const (
	noncesKept = 1 << 18 // requests with effects, of all minions
	proofsKept = 1 << 16 // minions
)

// NewServer returns a server that signs with key, knows minions by keys and hands their commands to h.
func NewServer(key *crypto.PrivateKey, keys *pki.Dir, secrets *Secrets, signIn *SignIn, h Handler, o ServerOptions) *Server {
	s := &Server{opts: o, keys: keys, secrets: secrets, signIn: signIn, handler: h,
		seen: newNonces(noncesKept, secrets.outdate), proofs: newProofs(proofsKept), versions: loglimit.Limiter{Pause: time.Hour}}
	s.SetAdmission(o.Admission)
	s.SetKey(key)
	return s
}

// SetKey replaces the key that replies are signed with.
func (s *Server) SetKey(key *crypto.PrivateKey) { s.key.Store(key) }

// SetAdmission replaces what NewServer was given.
func (s *Server) SetAdmission(a Admission) { s.admits.Store(&a) }

// Handle answers one request. It never panics, and always replies but to a sign-in for which there is no turn; see [SignIn].
func (s *Server) Handle(ctx context.Context, r transport.Request) {
	reply := s.answer(ctx, r)
	if reply == nil {
		return
	}
	if err := r.Reply(reply); err != nil {
		s.opts.Log.WithError(err).Debugf("reply to %s was not delivered", r.Remote())
	}
}

// answer returns the encoded reply to r; a panic in a handler is answered as any failure is.
func (s *Server) answer(ctx context.Context, r transport.Request) (reply []byte) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Errorf("request of %s made a handler panic: %v\n%s", r.Remote(), p, debug.Stack())
			reply = encodeReply(replyException)
		}
	}()
	return s.read(ctx, r)
}

// encodeReply encodes a clear reply. One that cannot be encoded is answered as a failure is.
func encodeReply(v any) []byte {
	if t, ok := v.(textReply); ok {
		v = string(t)
	}
	b, err := payload.Marshal(v)
	if err != nil {
		return marshal(string(replyException))
	}
	return b
}

// read takes the envelope apart (salt/channel/server.py, handle_message).
func (s *Server) read(ctx context.Context, r transport.Request) []byte {
	env, err := payload.ParseEnvelope(r.Body(), s.limits(r))
	switch {
	case err != nil:
		s.opts.Log.WithError(err).Debugf("request of %s is no envelope", r.Remote())
		return encodeReply(unreadable(r.Body(), s.limits(r)))
	case env.Version < s.admits.Load().MinimumVersion:
		s.refuseVersion(env, r)
		return encodeReply(replyBadLoad)
	}
	switch env.Enc {
	case "aes":
		return s.encrypted(ctx, env, r)
	case "clear":
		return s.clear(ctx, env, r)
	}
	return encodeReply(replyBadLoad)
}

// unreadable returns the reply to bytes that are no envelope: Salt answers other than text when they are not even
// MessagePack (salt/transport/zeromq.py, handle_message).
func unreadable(body []byte, l payload.Limits) any {
	if payload.Check(body, l) != nil {
		return data.NewMap("msg", string(replyBadLoad))
	}
	return replyBadLoad
}

func (s *Server) limits(r transport.Request) payload.Limits {
	l := payload.WireLimits()
	if s.opts.MaxReturn > 0 {
		l.Size = s.opts.MaxReturn
	}
	return l
}

// refuseVersion names a peer that is too old once an hour, with the setting that would admit it.
func (s *Server) refuseVersion(env *payload.Envelope, r transport.Request) {
	host := hostOf(r.Remote())
	if s.versions.First(host) {
		s.opts.Log.Warnf("request of %s%s refused: it speaks protocol version %d and minimum_auth_version is %d; "+
			"set minimum_auth_version: %d on the master to admit it", host, named(env), env.Version, s.admits.Load().MinimumVersion, env.Version)
	}
}

func named(env *payload.Envelope) string {
	fields, err := payload.ParseFields(env.Load, payload.PreAuthLimits())
	if id, ok := fields.Text("id"); ok && err == nil {
		return " (id " + strconv.QuoteToGraphic(id) + ")"
	}
	return ""
}

func hostOf(a net.Addr) string {
	if a == nil {
		return "a local peer"
	}
	return transport.HostOf(a)
}

// clear does a clear command or a sign-in.
func (s *Server) clear(ctx context.Context, env *payload.Envelope, r transport.Request) []byte {
	load, refusal := readLoad(env.Load, payload.SplitLimits())
	if refusal != "" {
		return encodeReply(refusal)
	}
	cmd, ok := load.Text("cmd")
	if cmd == "_auth" {
		return s.signIn.answer(ctx, env, load, r)
	}
	if load.Raw("cmd") == nil {
		return encodeReply(replyException)
	}
	c := &Command{Name: cmd, Load: load, Size: len(r.Body()), Caller: Caller{Remote: r.Remote()}, Version: env.Version}
	if !ok {
		return encodeReply(data.NewMap())
	}
	reply, err := s.handler.Clear(ctx, c)
	switch {
	case errors.Is(err, ErrUnknownCommand):
		return encodeReply(data.NewMap())
	case err != nil:
		s.opts.Log.WithError(err).Errorf("command %s of %s", strconv.QuoteToGraphic(cmd), r.Remote())
		return encodeReply(replyException)
	}
	return encodeReply(reply)
}

// readLoad reads the map inside an envelope and checks what can be checked of the id in it.
func readLoad(raw data.Raw, l payload.Limits) (load payload.Fields, refusal textReply) {
	load, err := payload.ParseFields(raw, l)
	if err != nil {
		return nil, replyNotMap
	}
	id := load.Raw("id")
	if id == nil {
		return load, ""
	}
	text, ok := load.Text("id")
	switch {
	case !ok:
		v, err := payload.Unmarshal(id, payload.PreAuthLimits())
		if err != nil {
			return nil, replyBadLoad
		}
		return nil, textReply(fmt.Sprintf("bad load: id %s is not a string", data.Str(v)))
	case strings.ContainsRune(text, 0):
		return nil, replyNullID
	}
	return load, ""
}

// encrypted does a command of a minion: find the key, open, prove, dispatch, seal.
func (s *Server) encrypted(ctx context.Context, env *payload.Envelope, r transport.Request) []byte {
	key, plain, err := s.open(env)
	if err != nil {
		s.opts.Log.WithError(err).Debugf("encrypted request of %s", r.Remote())
		return encodeReply(replyBadLoad)
	}
	load, refusal := readLoad(plain, s.limits(r))
	if refusal != "" {
		return encodeReply(refusal)
	}
	nonce, _ := load.Text("nonce")
	c, err := s.prove(env, load, r)
	if err != nil {
		if s.told.First("refused " + hostOf(r.Remote())) {
			s.opts.Log.WithError(err).Warnf("encrypted request of %s refused", r.Remote())
		}
		return encodeReply(replyBadLoad)
	}
	c.Body = plain
	r.Trust()
	if c.Caller.Proved && s.opts.OnRequest != nil {
		s.opts.OnRequest(c.Caller.ID, r.Remote())
	}
	return s.dispatch(ctx, c, key, nonce)
}

// open finds the key that env is encrypted with and returns the MessagePack inside.
func (s *Server) open(env *payload.Envelope) (*crypto.Crypticle, []byte, error) {
	blob, ok := payload.Fields{{Key: "load", Value: env.Load}}.Bytes("load")
	if !ok {
		return nil, nil, errNoBlob
	}
	key, err := s.keyOf(env)
	if err != nil {
		return nil, nil, err
	}
	plain, err := key.OpenInPlace(blob, "")
	return key, plain, err
}

// keyOf returns the key of the minion that sent env, or the shared one for old versions.
func (s *Server) keyOf(env *payload.Envelope) (*crypto.Crypticle, error) {
	if env.Version < 3 {
		return s.secrets.Shared(), nil
	}
	if err := pki.ValidID(env.ID); err != nil {
		return nil, err
	}
	return s.secrets.Existing(env.ID)
}

var (
	errNoBlob    = errors.New("the load is not bytes")
	errNoProof   = errors.New("the request does not prove its id")
	errOtherID   = errors.New("the id outside and inside of the request differ")
	errOutOfTime = errors.New("the request is too old, or of the future")
)

// prove checks who sent load and takes the proofs out of it. Version 3 must prove its id. Version 2 need not, since
// minions of Salt 3006.0 send no token with some commands, but a token that comes must be good; commands that need
// proof are refused in do with the reply that those minions know.
func (s *Server) prove(env *payload.Envelope, load payload.Fields, r transport.Request) (*Command, error) {
	c := &Command{Load: load, Version: env.Version, EncAlgo: env.EncAlgo, SigAlgo: env.SigAlgo, Caller: Caller{Remote: r.Remote()}}
	c.Name, _ = load.Text("cmd")
	c.Caller.ID, _ = load.Text("id")
	if env.Version >= 3 {
		if err := s.fresh(env, load); err != nil {
			return nil, err
		}
	}
	token, _ := load.Bytes("tok")
	key := s.acceptedKey(c.Caller.ID)
	c.Caller.Proved = s.tokenProves(c.Caller.ID, key, token)
	if err := s.checkVersion(c, key); err != nil {
		return nil, err
	}
	if !c.Caller.Proved && (env.Version >= 3 || load.Has("tok") && !s.handler.NeedsProof(c.Name)) {
		return nil, fmt.Errorf("minion %s: %w", strconv.QuoteToGraphic(c.Caller.ID), errNoProof)
	}
	c.Load.Delete("tok")
	if env.Version >= 2 { // older ones leave it to the handler, as in Salt
		c.Load.Delete("nonce")
	}
	return c, nil
}

// checkVersion notes that a minion has proved itself by version 3. It then refuses requests without proof of lower versions: all minions
// share the key that these are encrypted with, and the minion itself has left them behind. Lower versions are not noted, since their
// number stands outside of the encryption, where anybody could raise it.
func (s *Server) checkVersion(c *Command, key *crypto.PublicKey) error {
	if s.opts.Versions == nil || key == nil {
		return nil
	}
	if c.Caller.Proved {
		if c.Version >= Version {
			s.opts.Versions.Proved(c.Caller.ID, key, Version)
		}
		return nil
	}
	if known := s.opts.Versions.Highest(c.Caller.ID, key); c.Version < known {
		return fmt.Errorf("minion %s has proved its id by protocol version %d before, and this request is of version %d; if an older Salt was "+
			"installed on it, delete its key and accept it again: %w", c.Caller.ID, known, c.Version, errNoProof)
	}
	return nil
}

// clockSkew is how far the clock of a minion may be ahead. A request from further ahead could be kept and sent long
// after, when it is no longer known to have been done.
const clockSkew = 5 * time.Minute

// fresh checks what version 3 puts beside a command.
func (s *Server) fresh(env *payload.Envelope, load payload.Fields) error {
	id, _ := load.Text("id")
	if id != env.ID {
		return errOtherID
	}
	ttl := s.admits.Load().RequestTTL
	if ttl <= 0 {
		return nil
	}
	ts, ok := load.Int("ts")
	if age := time.Since(time.Unix(ts, 0)); !ok || age > ttl || age < -clockSkew {
		return errOutOfTime
	}
	return nil
}

// acceptedKey returns the accepted key of minion id, nil where it has none.
func (s *Server) acceptedKey(id string) *crypto.PublicKey {
	if pki.ValidID(id) != nil {
		return nil
	}
	key, err := s.keys.AcceptedKey(id)
	if err != nil {
		return nil
	}
	return key
}

// tokenProves reports whether token was made with the accepted key of minion id (salt/master.py, verify_minion).
func (s *Server) tokenProves(id string, key *crypto.PublicKey, token []byte) bool {
	return key != nil && len(token) > 0 && s.proofs.prove(id, key, token)
}

// dispatch does a command and seals its reply with the key that the request came under. The nonce tells repetitions
// whatever the version, which stands outside of the encryption and which a stranger may have changed; replies carry it
// since version 2.
func (s *Server) dispatch(ctx context.Context, c *Command, key *crypto.Crypticle, nonce string) []byte {
	reply, err := s.do(ctx, c, markOf(c, key), nonce)
	if c.Version < 2 {
		nonce = ""
	}
	if private, ok := reply.(Private); ok && err == nil {
		return encodeReply(s.private(c, private, nonce))
	}
	switch {
	case errors.Is(err, ErrUnknownCommand):
		reply = data.NewMap()
	case errors.Is(err, errNoCommand):
		return encodeReply(replyException)
	case errors.Is(err, errForgotten):
		s.renew(c, key)
		return encodeReply(replyBadLoad)
	case err != nil:
		s.failed(c, err)
		reply = ""
	}
	body, err := sealed(key, nonce, reply)
	if err != nil {
		s.failed(c, fmt.Errorf("encode reply: %w", err))
		return marshal(key.Seal(marshal(""), nonce))
	}
	return body
}

// sealed returns a reply as it is sent: the blob as MessagePack. It is made in one piece of memory, with the reply's head
// put in front when its length is known.
func sealed(key *crypto.Crypticle, nonce string, reply any) ([]byte, error) {
	const room = 5 // of the longest head
	body, err := key.AppendSeal(make([]byte, room, 512+bulk(reply)), nonce, func(dst []byte) ([]byte, error) { return payload.Append(dst, reply) })
	if err != nil {
		return nil, err
	}
	var head [room]byte
	n := len(payload.AppendBytesHead(head[:0], len(body)-room))
	copy(body[room-n:], head[:n])
	return body[room-n:], nil
}

// bulk returns how many bytes a reply holds in one piece, as that of a file.
func bulk(reply any) int {
	m, _ := reply.(*data.Map)
	piece, _ := m.Value("data").([]byte)
	return len(piece)
}

func (s *Server) failed(c *Command, err error) {
	s.opts.Log.WithError(err).Errorf("command %s of minion %s", strconv.QuoteToGraphic(c.Name), strconv.QuoteToGraphic(c.Caller.ID))
}

// markOf returns when c was made and under which session key; the key is nil where the version has none.
func markOf(c *Command, key *crypto.Crypticle) mark {
	if c.Version < 3 {
		return mark{}
	}
	at, ok := c.Load.Int("ts")
	if !ok {
		at = math.MinInt64
	}
	return mark{key, at}
}

// renew makes a minion sign in for another session key: under the one that it has, requests of the present time of its clock
// cannot be told from recorded ones.
func (s *Server) renew(c *Command, key *crypto.Crypticle) {
	if now, err := s.secrets.Existing(c.Caller.ID); err != nil || now != key {
		return // it has another one
	}
	id := strconv.QuoteToGraphic(c.Caller.ID)
	if s.told.First("forgotten " + id) {
		s.opts.Log.Warnf("Request of minion %s from %s refused: it is older than those that are remembered, so it may have been done before. "+
			"The clock of the minion was set back, or somebody sends what was recorded; the minion gets another session key", id, hostOf(c.Caller.Remote))
	}
	if err := s.secrets.Forget(c.Caller.ID); err != nil {
		s.failed(c, err)
	}
}

var (
	errNoCommand = errors.New("request without a command")
	errForgotten = errors.New("the request may have been done before")
)

// do runs one command, and answers a panic as Salt answers an exception. A command with effects that was done before is
// answered with nothing, as its first reply may have been lost, and not done again. The error is errForgotten for one that is so
// old that nobody knows.
func (s *Server) do(ctx context.Context, c *Command, m mark, nonce string) (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	switch {
	case c.Load.Raw("cmd") == nil:
		return nil, errNoCommand
	case s.handler.NeedsProof(c.Name) && !c.Caller.Proved:
		return data.NewMap(), nil
	case nonce == "" || !s.handler.Effect(c.Name):
	case !s.seen.add(c.Caller.ID, nonce, m):
		return nil, nil
	case m.key != nil && s.secrets.outdated(c.Caller.ID, m): // after add: what that forgets meanwhile counts
		return nil, errForgotten
	}
	return s.handler.Encrypted(ctx, c)
}

// private seals a reply for the minion's own key (salt/channel/server.py, _encrypt_private).
func (s *Server) private(c *Command, p Private, nonce string) any {
	key, err := s.keys.AcceptedKey(c.Caller.ID)
	if err != nil {
		return data.NewMap("error", "AES key not found")
	}
	if nonce == "" && c.Version >= 2 {
		return data.NewMap("error", "Nonce not included in request")
	}
	once, err := crypto.NewCompactCrypticle(crypto.NewKeyString())
	if err != nil {
		return data.NewMap("error", string(replyBadLoad))
	}
	wrapped, err := key.Encrypt([]byte(once.Key()), orDefault(c.EncAlgo, crypto.OAEPSHA1))
	if err != nil {
		return data.NewMap("error", string(replyBadLoad))
	}
	body, err := s.privateBody(c, p, wrapped, nonce)
	if err != nil {
		s.failed(c, err)
		return data.NewMap("error", string(replyBadLoad))
	}
	return data.NewMap("key", wrapped, p.Name, once.Seal(body, ""))
}

// privateBody returns what is sealed in a private reply: since version 2 the value with the master's signature, bound
// to the request by its nonce.
func (s *Server) privateBody(c *Command, p Private, wrapped []byte, nonce string) ([]byte, error) {
	if c.Version < 2 {
		return payload.Marshal(p.Value)
	}
	body, err := payload.Marshal(data.NewMap("key", wrapped, p.Name, p.Value, "nonce", nonce))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", p.Name, err)
	}
	return s.sign(body, c.SigAlgo)
}

func (s *Server) sign(body []byte, alg string) ([]byte, error) {
	sig, err := s.key.Load().Sign(body, orDefault(alg, crypto.SHA1Sign))
	if err != nil {
		return nil, err
	}
	return marshal(data.NewMap("data", body, "sig", sig)), nil
}

func orDefault(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}
