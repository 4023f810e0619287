package channel

import (
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

// SignInOptions say whom a master lets in and what it tells those.
type SignInOptions struct {
	Policy      Policy
	PublishPort int
	Connected   func() []string                                     // ids of the minions that are connected; for MaxMinions
	Signing     *crypto.PrivateKey                                  // signs the master's key (master_sign_pubkey); nil does not
	SignedKey   string                                              // or the text of a signature made before (master_use_pubkey_signature)
	Handover    pki.Chain                                           // how the master came to its key from earlier ones; none where it has had no other
	Parallel    int                                                 // sign-ins in work at once; 0 means one
	MaxWait     time.Duration                                       // how long one of our minions may wait for its turn; 0 means 4 s, as they give up after 5
	SaltWait    time.Duration                                       // how long another one may, unless it goes away before; 0 means 35 s
	OnEvent     func(data *data.Map)                                // told the data of the event salt/auth; nil is not told
	OnDenied    func(id string, key *crypto.PublicKey, from string) // told of keys for ids that have another one, which lie in minions_denied now; nil is not told
	Host        func(id string) string                              // from where the minion that has an id was last heard, "" where that is not known; may be nil
	Log         logrus.FieldLogger
}

// A Policy says whom a master lets in.
type Policy struct {
	OpenMode   bool
	Rules      *pki.Autosign
	MaxMinions int // 0 means no limit
}

// SignIn answers _auth: it decides by the key directories and the rules whom the master knows, and hands out session keys
// (salt/channel/server.py, ReqServerChannel._auth).
//
// Private-key operations and new files are what a stranger can make a master spend; so many sign-ins at once do them as
// Parallel says. The others wait in a line of their own, aside of the workers that answer requests, and the addresses that
// they come from take turns. Who finds no place there, or waits too long, is told so if it is one of ours, and tries again
// after a pause. A sign-in waits once, and then all is done: none is thrown away half done. One of more than 64 KiB is refused.
//
// Minions of Salt understand no such answer, and any refusal would make them give up what they are doing. They wait in the line
// until they go away: those of 3006.18 connect anew each 5 s, and lose the place of their old connection; those of 3006.0 send
// their next tries, which are the same request, behind the one that waits, and take its answer for any of them, for 35 s
// (salt/transport/zeromq.py, AsyncReqMessageClient). To close the connection of the latter earlier is worse than to say nothing:
// their socket waits for an answer on it until these 35 s are over. So only who finds no place, or has waited so long, gets no
// answer and is disconnected.
//
// A sign-in proves nothing: whoever knows the public key of a minion can send one, and only cannot read the answer. So
// it neither raises a limit nor moves a minion to another address; the first request under the keys does.
type SignIn struct {
	opts    SignInOptions
	policy  atomic.Pointer[Policy]
	keys    *pki.Dir
	secrets *Secrets
	line    *line
	told    loglimit.Limiter

	exchange sync.RWMutex // held while the key of the master changes: each answer is of one key and its secrets
	key      *crypto.PrivateKey
	pub      string // the master's key as it is sent
	handover pki.Chain

	mu       sync.Mutex
	signed   string // the shared key that digest is of
	digest   []byte
	pubSigns map[string]string // the signature of the master's key, by algorithm
}

// saltPatience is auth_timeout times auth_tries of Salt's minions as these are by default.
const saltPatience = 7 * 5 * time.Second

// NewSignIn returns the sign-in of a master with this key.
func NewSignIn(key *crypto.PrivateKey, keys *pki.Dir, secrets *Secrets, o SignInOptions) *SignIn {
	if o.MaxWait <= 0 {
		o.MaxWait = 4 * time.Second
	}
	if o.SaltWait <= 0 {
		o.SaltWait = saltPatience
	}
	s := &SignIn{opts: o, key: key, pub: key.Public().PEM(), handover: o.Handover, keys: keys, secrets: secrets,
		line: newLine(max(o.Parallel, 1)), pubSigns: map[string]string{}}
	s.SetPolicy(o.Policy)
	return s
}

// claim is what a sign-in request says.
type claim struct {
	id, pub, nonce   string
	token            []byte
	version          int
	encAlgo, sigAlgo string
	ours             bool // the minion is one of ours, which understands more than Salt's
	grains           data.Raw
	port             int // of the publisher that goes with the request port it came by; 0 is the master's
}

// publishPort returns where minion c finds publications.
func (s *SignIn) publishPort(c *claim) int {
	if c.port != 0 {
		return c.port
	}
	return s.opts.PublishPort
}

var errIncomplete = errors.New("sign-in without id, pub or nonce")

// readClaim reads a request of so many bytes that nobody has proved: all of it is small and flat.
func readClaim(env *payload.Envelope, load payload.Fields, size int) (*claim, error) {
	if size > maxSignIn {
		return nil, fmt.Errorf("sign-in of %d bytes, more than %d: %w", size, maxSignIn, payload.ErrLimit)
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
	c.ours, _ = load.Bool(oursField)
	enc, _ := load.Text("enc_algo")
	sig, _ := load.Text("sig_algo")
	c.encAlgo, c.sigAlgo = orDefault(enc, crypto.OAEPSHA1), orDefault(sig, crypto.SHA1Sign)
	if !hasID || !hasPub || c.version >= 2 && !hasNonce || len(c.pub) > maxKeyText || len(c.nonce) > 2*nonceLen {
		return nil, errIncomplete
	}
	return c, nil
}

// answer returns the encoded reply to a sign-in.
func (s *SignIn) answer(ctx context.Context, env *payload.Envelope, load payload.Fields, r transport.Request) []byte {
	c, err := readClaim(env, load, len(r.Body()))
	if err != nil {
		s.opts.Log.WithError(err).Debugf("sign-in of %s", r.Remote())
		return encodeReply(replyException)
	}
	if p, ok := r.(interface{ PublishPort() int }); ok {
		c.port = p.PublishPort()
	}
	if name := c.badAlgorithm(); name != "" {
		return marshal(data.NewMap("enc", "clear", "load", data.NewMap("ret", name)))
	}
	leave, err := s.turn(ctx, c, r)
	if err != nil && ctx.Err() != nil {
		return nil // the master stops
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
func (s *SignIn) turn(ctx context.Context, c *claim, r transport.Request) (leave func(), err error) {
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
	if c.ours {
		most = s.opts.MaxWait
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	transport.Aside(ctx, func() { err = s.line.wait(ctx, p) })
	return s.line.leave, err
}

// The field of a sign-in with which our minions say who they are, and the answer to those that have no turn. Nobody signs that
// answer, as it says no more than silence does.
const (
	oursField = "brine"
	retBusy   = "busy"
)

// busy answers a sign-in that has no turn; nil is no answer.
func (s *SignIn) busy(c *claim, r transport.Request) []byte {
	if s.told.First("busy") {
		s.opts.Log.Warnf("More minions sign in than this master can serve at once, the last one from %s; they try again", hostOf(r.Remote()))
	}
	if !c.ours {
		return nil
	}
	return marshal(data.NewMap("enc", "clear", "load", data.NewMap("ret", retBusy)))
}

// Exchange gives the master another key, which the chain leads to from earlier ones. Meanwhile nobody signs in, and do is
// called; when it fails all stays as it was.
func (s *SignIn) Exchange(key *crypto.PrivateKey, chain pki.Chain, signedKey string, do func() error) error {
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

// badAlgorithm names what of the algorithms asked for this master does not know.
func (c *claim) badAlgorithm() string {
	switch {
	case c.sigAlgo != crypto.SHA1Sign && c.sigAlgo != crypto.SHA224Sign:
		return "bad sig algo"
	case c.encAlgo != crypto.OAEPSHA1 && c.encAlgo != crypto.OAEPSHA224:
		return "bad enc algo"
	}
	return ""
}

// judge decides by key directories and rules, carries that out and announces it.
func (s *SignIn) judge(c *claim, r transport.Request) pki.Verdict {
	policy := s.policy.Load()
	in := pki.SignIn{ID: c.id, PEM: c.pub, OpenMode: policy.OpenMode, Full: s.full(policy.MaxMinions, c.id)}
	if pki.ValidID(c.id) == nil && policy.Rules != nil {
		var err error
		if in.Sign, in.Reject, err = policy.Rules.Decide(c.id, c.grainMap()); err != nil && s.told.First("rules") {
			s.opts.Log.WithError(err).Warnf("key of minion %s: the rules for new keys cannot be read", c.id)
		}
	}
	verdict, err := pki.Admit(s.keys.From(transport.NetworkOf(transport.SourceOf(r.Remote()))), in)
	if err != nil && s.told.First("fault "+hostOf(r.Remote())) {
		s.opts.Log.WithError(err).Warnf("sign-in of minion %s from %s", strconv.QuoteToGraphic(c.id), r.Remote())
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

// grainMap returns the grains that came for the rules, or nil.
func (c *claim) grainMap() *data.Map {
	v, err := payload.Unmarshal(c.grains, payload.PreAuthLimits())
	if err != nil {
		return nil
	}
	m, _ := v.(*data.Map)
	return m
}

// log logs how a sign-in ended. Strangers must not be able to fill the log.
func (s *SignIn) log(c *claim, v pki.Verdict, r transport.Request) {
	id := c.id
	if pki.ValidID(id) != nil {
		id = strconv.QuoteToGraphic(id)
	}
	switch {
	case v.Act == "accept":
		s.opts.Log.Infof("Authentication accepted from %s", id)
	case v.Act == "pend" && s.told.First("pend "+id):
		s.opts.Log.Infof("Authentication failed from host %s, the key is in pending and needs to be accepted with salt-key -a %s", id, id)
	case v.Act == "pend":
	case v.Action == pki.Deny && s.told.First("refused "+hostOf(r.Remote())):
		s.opts.Log.Warnf("Sign-in of %s from %s refused: the id has another key%s; salt-key -f %s shows both, and salt-key -a %s --include-denied takes the new one, "+
			"as after the host was installed anew", id, r.Remote(), s.holder(c.id), id, id)
	case v.Action == pki.Deny:
	case s.told.First("refused " + hostOf(r.Remote())):
		s.opts.Log.Warnf("Sign-in of %s from %s refused: %s", id, r.Remote(), whyRefused(v, id))
	}
}

// whyRefused tells an operator why a sign-in is refused, and what lets the minion in.
func whyRefused(v pki.Verdict, id string) string {
	switch {
	case v.Act == "full":
		return "max_minions are connected"
	case v.Act == "reject":
		return "a rule for new keys rejects the id"
	case v.Action == pki.Keep:
		return "its key is rejected, or is none; salt-key -d " + id + " lets the minion ask again"
	}
	return v.Action.String()
}

// holder says where the minion is that has an id. It is for the log alone: who signs in as another one is not told where that is.
func (s *SignIn) holder(id string) string {
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

// SetPolicy replaces the policy; sign-ins under way go on with the one that they began with.
func (s *SignIn) SetPolicy(p Policy) { s.policy.Store(&p) }

// full reports whether max_minions are connected and this is not one of them.
func (s *SignIn) full(most int, id string) bool {
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

// refuse answers false, true or "full". A minion of ours hears besides that its id has another key.
func (s *SignIn) refuse(c *claim, v pki.Verdict) []byte {
	load := data.NewMap("ret", v.Reply.Ret())
	if v.Action == pki.Deny && c.ours {
		load.Set(deniedField, true)
	}
	if c.version < 2 {
		return marshal(data.NewMap("enc", "clear", "load", load))
	}
	load.Set("nonce", c.nonce)
	return s.sign(c, load)
}

// sign wraps a reply with the master's signature.
func (s *SignIn) sign(c *claim, load *data.Map) []byte {
	body := marshal(load)
	sig, err := s.key.Sign(body, c.sigAlgo)
	if err != nil {
		s.opts.Log.WithError(err).Errorf("the reply to the sign-in of minion %s cannot be signed", c.id)
		return encodeReply(replyException)
	}
	return marshal(data.NewMap("enc", "clear", "load", body, "sig", sig))
}

// accept hands out the session keys.
func (s *SignIn) accept(c *claim) []byte {
	load, err := s.keysFor(c)
	if err != nil {
		s.opts.Log.WithError(err).Errorf("sign-in of minion %s", strconv.QuoteToGraphic(c.id))
		return encodeReply(replyException)
	}
	if c.version < 2 {
		return marshal(load)
	}
	load.Set("nonce", c.nonce)
	return s.sign(c, load)
}

// deniedField says in a refusal that the id has another key, and handoverField brings the chain from earlier keys of the
// master. Salt has neither; its minions ignore them.
const (
	deniedField   = "denied"
	handoverField = "handover"
)

// keysFor returns the map of an acceptance. Its secrets are for the key that is stored as accepted, which the judge has
// found to be the one that came.
func (s *SignIn) keysFor(c *claim) (*data.Map, error) {
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
	} else if len(c.token) > 0 && len(s.handover) > 0 { // the minion knows another key of the master
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

// readToken decrypts the minion's token. One that was made for another master is left out of the reply.
func (s *SignIn) readToken(c *claim) ([]byte, bool) {
	if len(c.token) == 0 {
		return nil, false
	}
	token, err := s.key.Decrypt(c.token, c.encAlgo)
	return token, err == nil
}

// addSignedKey adds the signature of the master's key by the signing key.
func (s *SignIn) addSignedKey(c *claim, load *data.Map) error {
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

// pubSign returns the signature of the master's key, which is the same for all minions and so made once.
func (s *SignIn) pubSign(alg string) (string, error) {
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

// digestOf returns the X9.31 signature of a shared key, which is the same for all minions and so made once.
func (s *SignIn) digestOf(key string) ([]byte, error) {
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
