package channel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
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

// SignInOptions configure a [SignInServer].
type SignInOptions struct {
	Policy      Policy
	PublishPort int
	// Connected returns the ids of connected minions, for MaxMinions.
	Connected func() []string
	// Signing signs the master's key (master_sign_pubkey). SignedKey is a signature made in
	// advance (master_use_pubkey_signature). Both are optional.
	Signing   *crypto.PrivateKey
	SignedKey string
	// Handover has the hand-overs from earlier keys of the master to the present one.
	Handover pki.Chain
	// Parallel is how many sign-ins are processed at once; 0 means one.
	Parallel int
	// MaxWait is how long a Brine minion may wait for its turn. 0 means 4 s, since such a minion
	// gives up after 5 s.
	MaxWait time.Duration
	// SaltWait is how long another minion may wait, unless it disconnects; 0 means 35 s.
	SaltWait time.Duration
	// OnEvent is called with the data of the event salt/auth; it may be nil.
	OnEvent func(data *data.Map)
	// OnDenied is called for a key that was moved to minions_denied because its id has another
	// key; it may be nil.
	OnDenied func(id string, key *crypto.PublicKey, from string)
	// Host returns the last address of a minion, or "" if it is unknown; it may be nil.
	Host func(id string) string
	Log  logrus.FieldLogger
}

// A Policy configures which minions a master accepts.
type Policy struct {
	OpenMode   bool
	Rules      *pki.Autosign
	MaxMinions int // 0 means no limit
}

// A SignInServer answers _auth: it decides by the key directories and the rules which minions are
// accepted, and hands out session keys (salt/channel/server.py, ReqServerChannel._auth).
//
// A stranger can make a master spend private-key operations and new files, so only Parallel
// sign-ins are processed at once. The others wait in a line of their own, outside the workers that
// answer requests, and their source addresses take turns. A Brine minion that finds no place, or
// waits too long, gets a busy reply and tries again after a pause. A sign-in waits only once and is
// then processed completely. One of more than 64 KiB is refused.
//
// Salt minions do not understand the busy reply, and any refusal would make them abort. They wait
// in the line until they disconnect. Those of 3006.18 reconnect every 5 s, and lose the place of
// their old connection. Those of 3006.0 send the same request again on each try, behind the waiting
// one, and accept its reply for any of them, for 35 s (salt/transport/zeromq.py,
// AsyncReqMessageClient). Closing their connection earlier would be worse than not replying: their
// socket waits for a reply on it until these 35 s are over. So only a Salt minion that finds no
// place, or has waited that long, gets no reply and is disconnected.
//
// A sign-in proves nothing: anyone who knows the public key of a minion can send one, but cannot
// read the reply. So it neither raises a limit nor changes the known address of a minion; the first
// request under the session keys does.
type SignInServer struct {
	opts     SignInOptions
	policy   atomic.Pointer[Policy]
	keys     *pki.Dir
	secrets  *Secrets
	line     *line
	warnings loglimit.Limiter

	// held while the master's key changes: each reply uses one key and its secrets
	exchange sync.RWMutex
	key      *crypto.PrivateKey
	pub      string // PEM text of the master's key
	handover pki.Chain

	mu       sync.Mutex
	signed   string // the shared key that digest belongs to
	digest   []byte
	pubSigns map[string]string // the signature of the master's key, by algorithm
}

// saltWait is auth_timeout times auth_tries of a Salt minion with default options.
const saltWait = 7 * 5 * time.Second

// NewSignInServer returns the sign-in handler of a master with this key.
func NewSignInServer(
	key *crypto.PrivateKey, keys *pki.Dir, secrets *Secrets, o SignInOptions,
) *SignInServer {
	if o.MaxWait <= 0 {
		o.MaxWait = 4 * time.Second
	}
	if o.SaltWait <= 0 {
		o.SaltWait = saltWait
	}
	s := &SignInServer{opts: o, key: key, pub: key.Public().PEM(), handover: o.Handover, keys: keys,
		secrets: secrets, line: newLine(max(o.Parallel, 1)), pubSigns: map[string]string{}}
	s.SetPolicy(o.Policy)
	return s
}

// claim is a decoded sign-in request.
type claim struct {
	id, pub, nonce   string
	token            []byte
	version          int
	encAlgo, sigAlgo string
	brine            bool // the minion is a Brine minion
	grains           data.Raw
	port             int // publish port that belongs to the request port used; 0 means the master's
}

// A PortRequest is a request to a port whose minions use another publish port than the master's. A
// [transport.Request] may implement it.
type PortRequest interface {
	// PublishPort returns the publish port for the sender.
	PublishPort() int
}

// publishPort returns the publish port for minion c.
func (s *SignInServer) publishPort(c *claim) int {
	if c.port != 0 {
		return c.port
	}
	return s.opts.PublishPort
}

var errIncomplete = errors.New("sign-in without id, pub or nonce")

// readClaim decodes a sign-in request of size bytes. The sender is unknown, so all values must be
// small and flat.
func readClaim(env *payload.Envelope, load payload.Fields, size int) (*claim, error) {
	if size > maxSignIn {
		return nil, fmt.Errorf("sign-in of %d bytes, more than %d: %w", size, maxSignIn,
			payload.ErrLimit)
	}
	if err := payload.Check(env.Load, payload.PreAuthLimits()); err != nil {
		return nil, err
	}
	c := &claim{version: env.Version, grains: load.Raw("autosign_grains")}
	var hasID, hasPub, hasNonce bool
	c.id, hasID = load.Text("id")
	c.pub, hasPub = load.Text("pub")
	c.nonce, hasNonce = load.Text("nonce")
	c.token, _ = load.Bytes("token")
	c.brine, _ = load.Bool(brineField)
	enc, _ := load.Text("enc_algo")
	sig, _ := load.Text("sig_algo")
	c.encAlgo, c.sigAlgo = cmp.Or(enc, crypto.OAEPSHA1), cmp.Or(sig, crypto.SHA1Sign)
	if !hasID || !hasPub || c.version >= 2 && !hasNonce || len(c.pub) > maxKeyText ||
		len(c.nonce) > 2*nonceLen {
		return nil, errIncomplete
	}
	return c, nil
}

// answer returns the encoded reply to a sign-in.
func (s *SignInServer) answer(
	ctx context.Context, env *payload.Envelope, load payload.Fields, r transport.Request,
) []byte {
	c, err := readClaim(env, load, len(r.Body()))
	if err != nil {
		s.opts.Log.WithError(err).Debugf("decode sign-in of %s", r.Remote())
		return encodeReply(replyException)
	}
	if p, ok := r.(PortRequest); ok {
		c.port = p.PublishPort()
	}
	if name := c.badAlgorithm(); name != "" {
		return marshal(data.NewMap("enc", "clear", "load", data.NewMap("ret", name)))
	}
	leave, err := s.turn(ctx, c, r)
	if err != nil && ctx.Err() != nil {
		return nil // the master is stopping
	}
	if err != nil {
		return s.busy(c, r)
	}
	defer leave()
	verdict := s.judge(c, r)
	s.exchange.RLock()
	defer s.exchange.RUnlock()
	if verdict.Reply == pki.Accept {
		return s.accept(c)
	}
	return s.refuse(c, verdict)
}

// turn waits for the turn of a sign-in, while another worker answers requests in place of this one.
// leave ends the turn.
func (s *SignInServer) turn(
	ctx context.Context, c *claim, r transport.Request,
) (leave func(), err error) {
	p, err := s.line.join(transport.SourceOf(r.Remote()), len(r.Body()))
	if err != nil {
		return nil, err
	}
	select {
	case <-p.ready:
		return s.line.leave, p.err
	default:
	}
	most := s.opts.SaltWait
	if c.brine {
		most = s.opts.MaxWait
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	transport.Aside(ctx, func() { err = s.line.wait(ctx, p) })
	return s.line.leave, err
}

// brineField is the field of a sign-in that marks a Brine minion. retBusy is the reply to those
// that get no turn. That reply is not signed, as it conveys no more than silence.
const (
	brineField = "brine"
	retBusy    = "busy"
)

// busy returns the reply to a sign-in that gets no turn; nil means no reply.
func (s *SignInServer) busy(c *claim, r transport.Request) []byte {
	if s.warnings.First("busy") {
		s.opts.Log.Warnf(
			"More minions sign in than this master can serve at once, the last one from %s; they try again",
			hostOf(r.Remote()))
	}
	if !c.brine {
		return nil
	}
	return marshal(data.NewMap("enc", "clear", "load", data.NewMap("ret", retBusy)))
}

// Exchange replaces the master's key; chain leads to it from earlier keys. It calls do while no
// sign-in is processed; if do fails, the key stays.
func (s *SignInServer) Exchange(
	key *crypto.PrivateKey, chain pki.Chain, signedKey string, do func() error,
) error {
	s.exchange.Lock()
	defer s.exchange.Unlock()
	if err := do(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.pub, s.handover, s.opts.SignedKey = key, key.Public().PEM(), chain, signedKey
	s.signed, s.digest, s.pubSigns = "", nil, map[string]string{}
	return nil
}

// badAlgorithm returns Salt's error for an algorithm that this master does not support, or "".
func (c *claim) badAlgorithm() string {
	switch {
	case c.sigAlgo != crypto.SHA1Sign && c.sigAlgo != crypto.SHA224Sign:
		return "bad sig algo"
	case c.encAlgo != crypto.OAEPSHA1 && c.encAlgo != crypto.OAEPSHA224:
		return "bad enc algo"
	}
	return ""
}

// judge decides a sign-in by key directories and rules, applies the decision and announces it.
func (s *SignInServer) judge(c *claim, r transport.Request) pki.Verdict {
	policy := s.policy.Load()
	in := pki.SignIn{ID: c.id, PEM: c.pub, OpenMode: policy.OpenMode,
		Full: s.full(policy.MaxMinions, c.id)}
	if pki.ValidID(c.id) == nil && policy.Rules != nil {
		var err error
		if in.Sign, in.Reject, err = policy.Rules.Decide(c.id, c.grainMap()); err != nil &&
			s.warnings.First("rules") {
			s.opts.Log.WithError(err).Warnf("Key of minion %s: the rules for new keys cannot be read", c.id)
		}
	}
	verdict, err := pki.Admit(s.keys.From(transport.NetworkOf(transport.SourceOf(r.Remote()))), in)
	if err != nil && s.warnings.First("fault "+hostOf(r.Remote())) {
		s.opts.Log.WithError(err).
			Warnf("process sign-in of minion %s from %s", strconv.QuoteToGraphic(c.id), r.Remote())
	}
	s.log(c, verdict, r)
	if verdict.Action == pki.Deny && err == nil && s.opts.OnDenied != nil {
		if key, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(c.pub))); err == nil {
			s.opts.OnDenied(c.id, key, hostOf(r.Remote()))
		}
	}
	if verdict.Event && s.opts.OnEvent != nil {
		s.opts.OnEvent(authEvent(c, verdict))
	}
	return verdict
}

// grainMap returns the grains for the rules, or nil.
func (c *claim) grainMap() *data.Map {
	v, err := payload.Unmarshal(c.grains, payload.PreAuthLimits())
	if err != nil {
		return nil
	}
	m, _ := v.(*data.Map)
	return m
}

// log logs the result of a sign-in. Repeated results are limited, so that strangers cannot fill the
// log.
func (s *SignInServer) log(c *claim, v pki.Verdict, r transport.Request) {
	id := c.id
	if pki.ValidID(id) != nil {
		id = strconv.QuoteToGraphic(id)
	}
	switch {
	case v.Act == "accept":
		s.opts.Log.Infof("Authentication accepted from %s", id)
	case v.Act == "pend" && s.warnings.First("pend "+id):
		s.opts.Log.Infof(
			"Authentication failed from host %s, the key is in pending and needs to be accepted with salt-key -a %s",
			id, id)
	case v.Act == "pend":
	case v.Action == pki.Deny && s.warnings.First("refused "+hostOf(r.Remote())):
		s.opts.Log.Warnf(
			"Sign-in of %s from %s refused: the id has another key%s; salt-key -f %s shows both, "+
				"and salt-key -a %s --include-denied accepts the new one, "+
				"for example after a reinstallation of the host",
			id, r.Remote(), s.holder(c.id), id, id)
	case v.Action == pki.Deny:
	case s.warnings.First("refused " + hostOf(r.Remote())):
		s.opts.Log.Warnf("Sign-in of %s from %s refused: %s", id, r.Remote(), whyRefused(v, id))
	}
}

// whyRefused explains to the operator why a sign-in is refused, and how to let the minion in.
func whyRefused(v pki.Verdict, id string) string {
	switch {
	case v.Act == "full":
		return "max_minions are connected"
	case v.Act == "reject":
		return "a rule for new keys rejects the id"
	case v.Action == pki.Keep:
		return "its key is rejected or malformed; salt-key -d " + id + " lets the minion ask again"
	}
	return v.Action.String()
}

// holder returns the address of the minion that owns id. Log it; never send it to a peer.
func (s *SignInServer) holder(id string) string {
	if s.opts.Host == nil {
		return ""
	}
	if host := s.opts.Host(id); host != "" {
		return ", of a minion at " + host
	}
	return ""
}

func authEvent(c *claim, v pki.Verdict) *data.Map {
	event := data.NewMap("result", v.Result())
	if v.Act != "" {
		event.Set("act", v.Act)
	}
	event.Set("id", c.id)
	event.Set("pub", c.pub)
	return event
}

// SetPolicy replaces the policy for later sign-ins.
func (s *SignInServer) SetPolicy(p Policy) { s.policy.Store(&p) }

// full reports whether more than most minions are connected and this is not one of them.
func (s *SignInServer) full(most int, id string) bool {
	if most <= 0 || s.opts.Connected == nil {
		return false
	}
	ids := s.opts.Connected()
	if len(ids) <= most {
		return false
	}
	for _, known := range ids {
		if known == id {
			return false
		}
	}
	return true
}

// refuse replies false, true or "full". A Brine minion also learns that its id has another key.
func (s *SignInServer) refuse(c *claim, v pki.Verdict) []byte {
	load := data.NewMap("ret", v.Reply.Ret())
	if v.Action == pki.Deny && c.brine {
		load.Set(deniedField, true)
	}
	if c.version < 2 {
		return marshal(data.NewMap("enc", "clear", "load", load))
	}
	load.Set("nonce", c.nonce)
	return s.sign(c, load)
}

// sign adds the master's signature to a reply.
func (s *SignInServer) sign(c *claim, load *data.Map) []byte {
	body := marshal(load)
	sig, err := s.key.Sign(body, c.sigAlgo)
	if err != nil {
		s.opts.Log.WithError(err).Errorf("sign reply to the sign-in of minion %s", c.id)
		return encodeReply(replyException)
	}
	return marshal(data.NewMap("enc", "clear", "load", body, "sig", sig))
}

// accept replies with the session keys.
func (s *SignInServer) accept(c *claim) []byte {
	load, err := s.keysFor(c)
	if err != nil {
		s.opts.Log.WithError(err).Errorf("make session keys for minion %s",
			strconv.QuoteToGraphic(c.id))
		return encodeReply(replyException)
	}
	if c.version < 2 {
		return marshal(load)
	}
	load.Set("nonce", c.nonce)
	return s.sign(c, load)
}

// deniedField marks a refusal because the id has another key. handoverField has the chain from
// earlier keys of the master. Salt has neither; its minions ignore them.
const (
	deniedField   = "denied"
	handoverField = "handover"
)

// keysFor returns the map of an acceptance. Its secrets are encrypted for the stored accepted key,
// which judge found to be that of the request.
func (s *SignInServer) keysFor(c *claim) (*data.Map, error) {
	minion, err := s.keys.AcceptedKey(c.id)
	if err != nil {
		return nil, err
	}
	shared := s.secrets.Shared()
	session, err := s.secrets.SessionOf(c.id, minion)
	if err != nil {
		return nil, err
	}
	load := data.NewMap("enc", "pub", "pub_key", s.pub, "publish_port", int64(s.publishPort(c)))
	if err := s.addSignedKey(c, load); err != nil {
		return nil, err
	}
	if token, ok := s.readToken(c); ok {
		if err := seal(load, "token", minion, token, c.encAlgo); err != nil {
			return nil, err
		}
	} else if len(c.token) > 0 && len(s.handover) > 0 { // the minion knows another key of this master
		load.Set(handoverField, s.handover.Wire())
	}
	err = errors.Join(
		seal(load, "aes", minion, []byte(shared.Key()), c.encAlgo),
		seal(load, "session", minion, []byte(session.Key()), c.encAlgo))
	if err != nil {
		return nil, err
	}
	sig, err := s.digestOf(shared.Key())
	if err != nil {
		return nil, err
	}
	load.Set("sig", sig)
	return load, nil
}

func seal(load *data.Map, name string, key *crypto.PublicKey, plain []byte, alg string) error {
	sealed, err := key.Encrypt(plain, alg)
	if err != nil {
		return fmt.Errorf("encrypt %s: %w", name, err)
	}
	load.Set(name, sealed)
	return nil
}

// readToken decrypts the minion's token. A token made for another master is left out of the reply.
func (s *SignInServer) readToken(c *claim) ([]byte, bool) {
	if len(c.token) == 0 {
		return nil, false
	}
	token, err := s.key.Decrypt(c.token, c.encAlgo)
	return token, err == nil
}

// addSignedKey adds the signature of the master's key by the signing key.
func (s *SignInServer) addSignedKey(c *claim, load *data.Map) error {
	switch {
	case s.opts.SignedKey != "":
		load.Set("pub_sig", s.opts.SignedKey)
	case s.opts.Signing != nil:
		sig, err := s.pubSign(c.sigAlgo)
		if err != nil {
			return err
		}
		load.Set("pub_sig", sig)
	}
	return nil
}

// pubSign returns the signature of the master's key. It is the same for all minions, and therefore
// cached.
func (s *SignInServer) pubSign(alg string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.pubSigns[alg]; ok {
		return text, nil
	}
	sig, err := s.opts.Signing.Sign([]byte(s.pub), alg)
	if err != nil {
		return "", fmt.Errorf("sign the master's key: %w", err)
	}
	s.pubSigns[alg] = crypto.SignatureText(sig)
	return s.pubSigns[alg], nil
}

// digestOf returns the X9.31 signature of a shared key. It is the same for all minions, and
// therefore cached.
func (s *SignInServer) digestOf(key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signed == key {
		return s.digest, nil
	}
	sum := sha256.Sum256([]byte(key))
	sig, err := s.key.EncryptX931([]byte(hex.EncodeToString(sum[:])))
	if err != nil {
		return nil, fmt.Errorf("sign the session key: %w", err)
	}
	s.signed, s.digest = key, sig
	return sig, nil
}
