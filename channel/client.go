package channel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

// ClientOptions configure a [Client]: its protocol, timeouts and trust in the master.
type ClientOptions struct {
	ID           string
	EncAlgo      string        // encryption_algorithm; empty means OAEP-SHA1
	SigAlgo      string        // signing_algorithm; empty means PKCS1v15-SHA1
	Timeout      time.Duration // of one request (request_channel_timeout)
	Tries        int           // of one request (request_channel_tries)
	AuthTimeout  time.Duration // of one sign-in request
	AuthTries    int
	Newest       int    // newest protocol version to speak; 0 means Version
	Fingerprint  string // of the master's key; empty means any
	FingerOption string // option with the fingerprint, for messages; "" means master_finger
	HashType     string // of the fingerprint
	OpenMode     bool   // any master will do (open_mode)
	VerifySigned bool   // the master's key must be signed (verify_master_pubkey_sign)
	AlwaysVerify bool   // also if the key is known (always_verify_signature)
	// publications without a signature are refused (sign_pub_messages)
	RequireSigned bool
	AllowUnsigned bool // accept masters that sign nothing (versions 0 and 1)
	// returns the grains sent with each sign-in (autosign_grains); may be nil
	AutosignGrains func() *data.Map
	OnSignIn       func(error) // called after each sign-in, with nil for success; may be nil
	Log            logrus.FieldLogger
	MaxReply       int // longest reply, in bytes; 0 means 100 MiB
}

// Keys is the part of a minion's key directory that a [Client] needs.
type Keys interface {
	// Master returns the PEM text of the stored key of the master, or "" if there is none.
	Master() (pem string, err error)
	// SetMaster stores the master's key in place of the stored one, before, which is "" on first
	// contact. If another key has been stored in the meantime it changes nothing, and the error
	// wraps pki.ErrChanged.
	SetMaster(before, pem string) error
	// Signing returns the PEM texts of the keys that may sign masters' keys, at least one. The
	// signature of any one of them suffices.
	Signing() (pems []string, err error)
}

// An Heir is a [Keys] that lets a master hand over to a new key. Without it a master's key changes
// only through pub_sig.
type Heir interface {
	// Heard returns the known earlier keys of the master.
	Heard() (pki.Heard, error)
	// Succeed stores a new key of the master in place of before. The hand-over statement with that
	// serial authorizes it. The old key becomes an earlier key of the master. If another key has
	// been stored in the meantime, the error wraps pki.ErrChanged.
	Succeed(before, pem string, serial int64) error
	// WasTrusted reports whether an earlier key of the master has a fingerprint, such as that in
	// master_finger.
	WasTrusted(finger, hash string) bool
}

// A Client is a minion's side of the request port, and opens messages of the publish port. Several
// goroutines may use it: one of them signs in, and those that need the result wait for it.
type Client struct {
	opts  ClientOptions
	key   *crypto.PrivateKey
	token string // proves the master: only the holder of its key can decrypt it and send it back
	proof []byte // proves the minion: X9.31 of tokenText
	keys  Keys
	out   transport.Requester
	nonce func() string // makes the nonce of a request

	mu        sync.Mutex
	creds     *Credentials
	inFlight  *signInCall
	forced    [renewTimes]time.Time // times of sign-ins caused by publications, the last at the end
	serialKey string                // the shared key that serial belongs to
	serial    *crypto.Serial
}

// Credentials are the result of a sign-in.
type Credentials struct {
	Shared      *crypto.Crypticle
	Session     *crypto.Crypticle // nil under protocol version 2 and older
	PublishPort int
	Version     int // protocol version of further requests
	MasterKey   *crypto.PublicKey
}

// requestKey returns the key that requests are encrypted with.
func (c *Credentials) requestKey() *crypto.Crypticle {
	if c.Version >= 3 {
		return c.Session
	}
	return c.Shared
}

// NewClient returns a client that authenticates with key and sends requests through out.
func NewClient(
	key *crypto.PrivateKey, keys Keys, out transport.Requester, o ClientOptions,
) (*Client, error) {
	proof, err := key.EncryptX931([]byte(tokenText))
	if err != nil {
		return nil, fmt.Errorf("make proof of minion %s: %w", o.ID, err)
	}
	return &Client{
		opts:  o,
		key:   key,
		token: crypto.NewKeyString(),
		proof: proof,
		keys:  keys,
		out:   out,
		nonce: newNonce,
	}, nil
}

func newNonce() string { return randomHex(nonceLen / 2) }

// limits returns the limits on replies.
func (c *Client) limits() payload.Limits {
	l := payload.WireLimits()
	if c.opts.MaxReply > 0 {
		l.Size = c.opts.MaxReply
	}
	return l
}

// Credentials returns the credentials of the last sign-in, or nil.
func (c *Client) Credentials() *Credentials {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.creds
}

// Forget drops the credentials, so that the next request signs in.
func (c *Client) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.creds = nil
}

// Do sends an encrypted request and returns the MessagePack of its reply. If the reply cannot be
// decrypted, for example after a restart of the master, Do signs in and sends the request once
// more. load must have the field cmd; the proof of the sender is added.
func (c *Client) Do(ctx context.Context, load *data.Map) (data.Raw, error) {
	var reply data.Raw
	err := c.retry(ctx, load, func(creds *Credentials, nonce string, body []byte) error {
		var err error
		reply, err = c.openReply(creds, body, nonce)
		return err
	})
	return reply, err
}

// Call sends an encrypted request and returns its reply as a value.
func (c *Client) Call(ctx context.Context, load *data.Map) (any, error) {
	raw, err := c.Do(ctx, load)
	if err != nil {
		return nil, err
	}
	return payload.Unmarshal(raw, c.limits())
}

// Pillar sends a _pillar request and returns the pillar. The reply can be read by this minion only,
// and is verified to be the master's answer to this request (salt/channel/client.py,
// crypted_transfer_decode_dictentry).
func (c *Client) Pillar(ctx context.Context, load *data.Map) (*data.Map, error) {
	var pillar any
	err := c.retry(ctx, load, func(creds *Credentials, nonce string, body []byte) error {
		var err error
		pillar, err = c.openPrivate(creds, body, "pillar", nonce)
		return err
	})
	if err != nil {
		return nil, err
	}
	m, ok := pillar.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("pillar: %w: it is not a map", ErrBadReply)
	}
	return m, nil
}

// retry sends load until read accepts the reply, at most opts.Tries times. One new sign-in, after a
// reply that cannot be decrypted, does not count.
func (c *Client) retry(
	ctx context.Context, load *data.Map, read func(*Credentials, string, []byte) error,
) error {
	var err error
	renewed := false
	for left := max(c.opts.Tries, 1); left > 0; left-- {
		creds, authErr := c.signedIn(ctx)
		if authErr != nil {
			return authErr
		}
		err = c.once(ctx, creds, load, read)
		if err == nil || ctx.Err() != nil || errors.Is(err, transport.ErrClosed) {
			return err
		}
		if errors.Is(err, crypto.ErrAuthentication) && !renewed {
			renewed = true
			c.forget(creds)
			left++
		}
	}
	return err
}

func (c *Client) once(
	ctx context.Context, creds *Credentials, load *data.Map,
	read func(*Credentials, string, []byte) error,
) error {
	if c.opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opts.Timeout)
		defer cancel()
	}
	body, nonce, err := c.seal(creds, load)
	if err != nil {
		return err
	}
	reply, err := c.out.Do(ctx, body)
	if err != nil {
		return fmt.Errorf("request %s: %w", load.Text("cmd"), err)
	}
	if err := read(creds, nonce, reply); err != nil {
		return fmt.Errorf("reply to %s: %w", load.Text("cmd"), err)
	}
	return nil
}

// seal encrypts load for the master (salt/channel/client.py, _package_load).
func (c *Client) seal(creds *Credentials, load *data.Map) (body []byte, nonce string, err error) {
	load = load.Clone()
	outer := data.NewMap("enc", "aes", "load", nil, "version", int64(creds.Version))
	if creds.Version >= 2 {
		nonce = c.nonce()
		load.Set("nonce", nonce)
	}
	if creds.Version >= 3 {
		load.Set("ts", time.Now().Unix())
		load.Set("tok", c.proof)
		load.Set("id", c.opts.ID)
		outer.Set("id", c.opts.ID)
		outer.Set("enc_algo", c.encAlgo())
		outer.Set("sig_algo", c.sigAlgo())
	} else if needsToken(load.Text("cmd")) {
		load.Set("tok", c.proof)
		load.Set("id", c.opts.ID)
	}
	plain, err := payload.Marshal(load)
	if err != nil {
		return nil, "", fmt.Errorf("encode %s: %w", load.Text("cmd"), err)
	}
	outer.Set("load", creds.requestKey().Seal(plain, ""))
	body, err = payload.Marshal(outer)
	return body, nonce, err
}

// needsToken reports whether a version 2 master expects the proof with cmd. With other commands the
// proof would end up in events and job records, and _file_envs fails with it (Salt 3006.0).
func needsToken(cmd string) bool {
	switch cmd {
	case "_master_tops", "_minion_event", "_mine", "_mine_get", "_mine_delete", "_mine_flush",
		"_file_recv", "minion_runner", "minion_pub", "minion_publish", "pub_ret", "revoke_auth":
		return true
	}
	return false
}

// openReply decrypts the reply to an encrypted request. Unlike Salt's minion it does not accept
// plain null or empty text: no master sends these, and an attacker could use them to fake the
// delivery of a return.
func (c *Client) openReply(creds *Credentials, body []byte, nonce string) (data.Raw, error) {
	if len(body) > c.limits().Size {
		return nil, fmt.Errorf("%w: %d bytes: %w", ErrBadReply, len(body), payload.ErrLimit)
	}
	blob, ok := payload.Bytes(data.Raw(body))
	if !ok {
		return nil, fmt.Errorf("%w: it is not encrypted: %w", ErrBadReply, crypto.ErrAuthentication)
	}
	return creds.requestKey().OpenInPlace(blob, nonce)
}

// openPrivate decrypts a reply for this minion's own key.
func (c *Client) openPrivate(creds *Credentials, body []byte, name, nonce string) (any, error) {
	reply, err := payload.ParseFields(body, c.limits())
	wrapped, hasKey := reply.Bytes("key")
	sealed, hasBody := reply.Bytes(name)
	if err != nil || !hasKey || !hasBody {
		return nil, fmt.Errorf("%s without a key: %w", name, crypto.ErrAuthentication)
	}
	text, err := c.key.Decrypt(wrapped, c.encAlgo())
	if err != nil {
		return nil, fmt.Errorf("decrypt key of %s: %w", name, err)
	}
	once, err := crypto.NewCrypticle(string(text))
	if err != nil {
		return nil, fmt.Errorf("decrypt key of %s: %w", name, err)
	}
	plain, err := once.Open(sealed, "")
	if err != nil {
		return nil, err
	}
	if creds.Version < 2 {
		return payload.Unmarshal(plain, c.limits())
	}
	return c.openSigned(creds, plain, wrapped, name, nonce)
}

func (c *Client) openSigned(
	creds *Credentials, plain, wrapped []byte, name, nonce string,
) (any, error) {
	outer, err := payload.ParseFields(plain, c.limits())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrBadReply, err)
	}
	signed, _ := outer.Bytes("data")
	sig, _ := outer.Bytes("sig")
	if err := creds.MasterKey.Verify(signed, sig, c.sigAlgo()); err != nil {
		// The master may have a new key by now, which a new sign-in fetches.
		return nil, fmt.Errorf("%s is not signed by the master: %w: %w", name, ErrBadReply,
			crypto.ErrAuthentication)
	}
	inner, err := payload.ParseFields(signed, c.limits())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrBadReply, err)
	}
	innerKey, _ := inner.Bytes("key")
	innerNonce, _ := inner.Text("nonce")
	if string(innerKey) != string(wrapped) || innerNonce != nonce {
		return nil, fmt.Errorf("%s answers another request: %w", name, ErrBadReply)
	}
	return inner.Value(name), nil
}

// forget drops creds, unless they were replaced meanwhile.
func (c *Client) forget(creds *Credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.creds == creds {
		c.creds = nil
	}
}

// Publications that cannot be decrypted may cause renewTimes sign-ins within renewWithin. The limit
// keeps garbage on the publish port from causing a storm of sign-ins. A master makes new keys far
// less often, but may do so several times in a row, for example when keys are deleted one by one.
const (
	renewTimes  = 4
	renewWithin = 20 * time.Second
)

// renew drops creds because a publication could not be decrypted. It reports whether there may be
// other credentials now.
func (c *Client) renew(creds *Credentials) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.creds != creds {
		return true
	}
	if !c.forced[0].IsZero() && time.Since(c.forced[0]) < renewWithin {
		return false
	}
	copy(c.forced[:], c.forced[1:])
	c.forced[renewTimes-1], c.creds = time.Now(), nil
	return true
}
