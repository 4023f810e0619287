package channel

import (
	"cmp"
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

// ErrUnknownCommand is returned by a [Handler] for an unknown command.
var ErrUnknownCommand = errors.New("unknown command")

// A Command is a request whose sender has been checked.
type Command struct {
	Name string
	// undecoded, without the proofs (tok, nonce); shares memory with the request
	Load payload.Fields
	Body []byte // buffer of the values in Load, which may be overwritten; nil for a clear command
	// size in bytes of a clear request, which stays in memory until the reply
	Size    int
	Caller  Caller
	Version int    // protocol version of the request
	EncAlgo string // algorithms for a private reply
	SigAlgo string
}

// A Caller is who sent a command.
type Caller struct {
	ID     string   // the minion; "" for a clear command
	Proved bool     // this request proves that the sender is ID
	Remote net.Addr // where the request came from
}

// A Handler executes commands.
type Handler interface {
	// Clear executes an unencrypted command of an unknown sender. Its load may be as large as that
	// of a known sender, so its values must not be decoded before the sender is identified, except
	// within payload.PreAuthLimits. The reply is sent as it is.
	Clear(ctx context.Context, c *Command) (reply any, err error)
	// Encrypted executes a command of a minion. The reply is encrypted for the minion. A [Private]
	// reply is also encrypted for the minion's own key.
	Encrypted(ctx context.Context, c *Command) (reply any, err error)
	// NeedsProof reports whether an encrypted command is only for callers that prove their id.
	NeedsProof(cmd string) bool
	// Effect reports whether an encrypted command changes anything, so that a replay must not be
	// executed.
	Effect(cmd string) bool
}

// Private is a reply that only the holder of the minion's private key can read, such as pillar
// (salt/channel/server.py, _encrypt_private).
type Private struct {
	Name  string // the name of the value in the reply: "pillar"
	Value any
}

// Versions stores the highest protocol version with which each minion has proved its id, over
// restarts of the master. [pki.Versions] implements it.
type Versions interface {
	// Proved records that minion id proved to hold key in a request of a version.
	Proved(id string, key *crypto.PublicKey, version int)
	// Highest returns the highest version with which minion id proved to hold key, or 0 if it never
	// did.
	Highest(id string, key *crypto.PublicKey) int
}

// ServerOptions configure a [Server].
type ServerOptions struct {
	Admission Admission
	// maximum size of a known caller's message in bytes; 0 means 100 MiB
	MaxReturn int
	OnRequest func(id string, from net.Addr) // called for each proved request; may be nil
	// unproved requests below their minion's version are refused; nil refuses none
	Versions Versions
	// Executed is called after a request with effects was executed whose key all masters of a cluster
	// share, so that each can refuse to repeat it: see [Server.Remember]. It may be nil.
	Executed func(RequestID)
	Log      logrus.FieldLogger
}

// Admission configures which requests a [Server] accepts.
type Admission struct {
	MinimumVersion int // requests of older versions are refused (minimum_auth_version)
	// maximum age of a version 3 request, which may be 5 min ahead; 0 means no check
	// (request_server_ttl)
	RequestTTL time.Duration
}

// A Server answers the request port of a master.
type Server struct {
	opts     ServerOptions
	admits   atomic.Pointer[Admission]
	keys     *pki.Dir
	key      atomic.Pointer[crypto.PrivateKey]
	secrets  *Secrets
	signIn   *SignInServer
	handler  Handler
	seen     *nonces // recent requests with effects
	proofs   *proofs
	warnings loglimit.Limiter
	versions loglimit.Limiter // warnings of old protocol versions
}

const (
	noncesKept = 1 << 18 // requests with effects, of all minions
	proofsKept = 1 << 16 // minions
)

// NewServer returns a server that signs with key, authenticates minions by keys, and passes their
// commands to h.
func NewServer(
	key *crypto.PrivateKey, keys *pki.Dir, secrets *Secrets, signIn *SignInServer, h Handler,
	o ServerOptions,
) *Server {
	s := &Server{opts: o, keys: keys, secrets: secrets, signIn: signIn, handler: h,
		seen: newNonces(noncesKept,
			secrets.outdate), proofs: newProofs(proofsKept),
		versions: loglimit.Limiter{Pause: time.Hour}}
	s.SetAdmission(o.Admission)
	s.SetKey(key)
	return s
}

// SetKey replaces the key that replies are signed with.
func (s *Server) SetKey(key *crypto.PrivateKey) { s.key.Store(key) }

// SetAdmission replaces the admission rules.
func (s *Server) SetAdmission(a Admission) { s.admits.Store(&a) }

// Handle answers one request. It never panics. It always replies, except to a sign-in that gets no
// turn; see [SignInServer].
func (s *Server) Handle(ctx context.Context, r transport.Request) {
	reply := s.answer(ctx, r)
	if reply == nil {
		return
	}
	if err := r.Reply(reply); err != nil {
		s.opts.Log.WithError(err).Debugf("send reply to %s", r.Remote())
	}
}

// answer returns the encoded reply to r. A panic in a handler gets the same reply as an error.
func (s *Server) answer(ctx context.Context, r transport.Request) (reply []byte) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Errorf("Request of %s made a handler panic: %v\n%s", r.Remote(), p,
				debug.Stack())
			reply = encodeReply(replyException)
		}
	}()
	return s.read(ctx, r)
}

// encodeReply encodes a clear reply. If that fails, it returns the reply to an exception.
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

// read decodes the envelope of a request and returns the encoded reply (salt/channel/server.py,
// handle_message).
func (s *Server) read(ctx context.Context, r transport.Request) []byte {
	env, err := payload.ParseEnvelope(r.Body(), s.limits())
	switch {
	case err != nil:
		s.opts.Log.WithError(err).Debugf("decode request of %s", r.Remote())
		return encodeReply(unreadable(r.Body(), s.limits()))
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

// unreadable returns the reply to a malformed request. If it is not even MessagePack, Salt does not
// reply with text (salt/transport/zeromq.py, handle_message).
func unreadable(body []byte, l payload.Limits) any {
	if payload.Check(body, l) != nil {
		return data.NewMap("msg", string(replyBadLoad))
	}
	return replyBadLoad
}

func (s *Server) limits() payload.Limits {
	l := payload.WireLimits()
	if s.opts.MaxReturn > 0 {
		l.Size = s.opts.MaxReturn
	}
	return l
}

// refuseVersion logs a peer with an old protocol version once an hour, with the option that would
// admit it.
func (s *Server) refuseVersion(env *payload.Envelope, r transport.Request) {
	host := hostOf(r.Remote())
	if s.versions.First(host) {
		s.opts.Log.Warnf("Request of %s%s refused: it speaks protocol version %d and minimum_auth_version is %d; "+
			"set minimum_auth_version: %d on the master to admit it", host, named(env), env.Version,
			s.admits.Load().MinimumVersion, env.Version)
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

// clear executes a clear command or a sign-in.
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
	c := &Command{
		Name:    cmd,
		Load:    load,
		Size:    len(r.Body()),
		Caller:  Caller{Remote: r.Remote()},
		Version: env.Version,
	}
	if !ok {
		return encodeReply(data.NewMap())
	}
	reply, err := s.handler.Clear(ctx, c)
	switch {
	case errors.Is(err, ErrUnknownCommand):
		return encodeReply(data.NewMap())
	case err != nil:
		s.opts.Log.WithError(err).Errorf("execute command %s of %s",
			strconv.QuoteToGraphic(cmd), r.Remote())
		return encodeReply(replyException)
	}
	return encodeReply(reply)
}

// readLoad decodes the map in an envelope and validates its id.
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

// encrypted executes a command of a minion: find the key, decrypt, authenticate, dispatch, encrypt.
func (s *Server) encrypted(ctx context.Context, env *payload.Envelope, r transport.Request) []byte {
	key, plain, err := s.open(env)
	if err != nil {
		s.opts.Log.WithError(err).Debugf("decrypt request of %s", r.Remote())
		return encodeReply(replyBadLoad)
	}
	load, refusal := readLoad(plain, s.limits())
	if refusal != "" {
		return encodeReply(refusal)
	}
	nonce, _ := load.Text("nonce")
	c, err := s.prove(env, load, r)
	if err != nil {
		if s.warnings.First("refused " + hostOf(r.Remote())) {
			s.opts.Log.WithError(err).Warnf("Encrypted request of %s refused", r.Remote())
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

// open decrypts env and returns the key and the MessagePack inside.
func (s *Server) open(env *payload.Envelope) (*crypto.Crypticle, []byte, error) {
	blob, ok := env.Blob()
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

// keyOf returns the session key of the minion that sent env, or the shared key for old versions.
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
	errOtherID   = errors.New("the ids outside and inside the encryption differ")
	errOutOfTime = errors.New("the request is too old, or from the future")
)

// prove authenticates the sender of load and removes the proofs from it. Version 3 must prove its
// id. Version 2 need not, since minions of Salt 3006.0 send no token with some commands, but a
// token must be valid if there is one. Commands that need proof are refused in execute, with the
// reply that those minions know.
func (s *Server) prove(
	env *payload.Envelope, load payload.Fields, r transport.Request,
) (*Command, error) {
	c := &Command{
		Load:    load,
		Version: env.Version,
		EncAlgo: env.EncAlgo,
		SigAlgo: env.SigAlgo,
		Caller:  Caller{Remote: r.Remote()},
	}
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
	if env.Version >= 2 { // in older versions the handler gets it, as in Salt
		c.Load.Delete("nonce")
	}
	return c, nil
}

// checkVersion records that a minion has proved itself with version 3. Afterwards it refuses
// unproved requests of lower versions: they are encrypted with a key that all minions share, and
// the minion itself no longer sends them. Lower versions are not recorded, since the version is
// outside the encryption and anybody could raise it.
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
		return fmt.Errorf(
			"minion %s has proved its id with protocol version %d before, and this request has version %d; if an older Salt was "+
				"installed on it, delete its key and accept it again: %w",
			c.Caller.ID, known, c.Version, errNoProof)
	}
	return nil
}

// clockSkew is how far the clock of a minion may be ahead. A request from further ahead could be
// recorded and replayed after the master has forgotten that it was executed.
const clockSkew = 5 * time.Minute

// fresh checks the id and the timestamp that version 3 adds to a command.
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

// acceptedKey returns the accepted key of minion id, or nil if it has none.
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

// tokenProves reports whether token was made with the accepted key of minion id (salt/master.py,
// verify_minion).
func (s *Server) tokenProves(id string, key *crypto.PublicKey, token []byte) bool {
	return key != nil && len(token) > 0 && s.proofs.prove(id, key, token)
}

// dispatch executes a command and encrypts its reply with the key of the request. The nonce detects
// replays in all versions, since the version is outside the encryption and a stranger may have
// changed it. Replies contain the nonce since version 2.
func (s *Server) dispatch(
	ctx context.Context, c *Command, key *crypto.Crypticle, nonce string,
) []byte {
	reply, err := s.execute(ctx, c, markOf(c, key), nonce)
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

// sealed returns an encrypted reply as MessagePack. It is built in one allocation; the MessagePack
// head is written in front once its length is known.
func sealed(key *crypto.Crypticle, nonce string, reply any) ([]byte, error) {
	const room = 5 // length of the longest head
	body, err := key.AppendSeal(make([]byte, room, 512+bulk(reply)), nonce,
		func(dst []byte) ([]byte, error) { return payload.Append(dst, reply) })
	if err != nil {
		return nil, err
	}
	var head [room]byte
	n := len(payload.AppendBytesHead(head[:0], len(body)-room))
	copy(body[room-n:], head[:n])
	return body[room-n:], nil
}

// bulk returns the size of a large binary value in the reply, such as part of a file.
func bulk(reply any) int {
	m, _ := reply.(*data.Map)
	piece, _ := m.Value("data").([]byte)
	return len(piece)
}

func (s *Server) failed(c *Command, err error) {
	s.opts.Log.WithError(err).
		Errorf("execute command %s of minion %s", strconv.QuoteToGraphic(c.Name),
			strconv.QuoteToGraphic(c.Caller.ID))
}

// markOf returns the time and the session key of a request. The key is nil in versions without one.
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

// renew forces a minion to get another session key by a new sign-in. Under the old key its current
// requests cannot be distinguished from recorded ones.
func (s *Server) renew(c *Command, key *crypto.Crypticle) {
	if now, err := s.secrets.Existing(c.Caller.ID); err != nil || now != key {
		return // it has a new one already
	}
	id := strconv.QuoteToGraphic(c.Caller.ID)
	if s.warnings.First("forgotten " + id) {
		s.opts.Log.Warnf(
			"Request of minion %s from %s refused: it is older than the remembered ones, so it may be a replay. "+
				"The clock of the minion was set back, or somebody replays recorded requests; the minion gets a new session key",
			id, hostOf(c.Caller.Remote))
	}
	if err := s.secrets.Forget(c.Caller.ID); err != nil {
		s.failed(c, err)
	}
}

var (
	errNoCommand = errors.New("request without a command")
	errForgotten = errors.New("the request may have been executed before")
)

// execute runs one command, and turns a panic into an error. A replayed command with effects is not
// run again, and gets a nil reply, since its first reply may have been lost. The error is
// errForgotten if the command is so old that it is unknown whether it was executed.
func (s *Server) execute(
	ctx context.Context, c *Command, m mark, nonce string,
) (reply any, err error) {
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
	// must follow add, which may forget requests
	case m.key != nil && s.secrets.outdated(c.Caller.ID, m):
		return nil, errForgotten
	}
	reply, err = s.handler.Encrypted(ctx, c)
	if err == nil && m.key == nil && nonce != "" && s.opts.Executed != nil && s.handler.Effect(c.Name) {
		s.opts.Executed(requestID(c.Caller.ID, nonce))
	}
	return reply, err
}

// Remember notes that another master of the cluster has executed a request: like a repetition it is
// acknowledged here, and not executed.
func (s *Server) Remember(r RequestID) { s.seen.remember("", r, mark{}) }

// private encrypts a reply for the minion's own key (salt/channel/server.py, _encrypt_private).
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
	wrapped, err := key.Encrypt([]byte(once.Key()), cmp.Or(c.EncAlgo, crypto.OAEPSHA1))
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

// privateBody returns the plain text of a private reply. Since version 2 it has the master's
// signature, and a nonce that binds it to the request.
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
	sig, err := s.key.Load().Sign(body, cmp.Or(alg, crypto.SHA1Sign))
	if err != nil {
		return nil, err
	}
	return marshal(data.NewMap("data", body, "sig", sig)), nil
}
