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

// ClientOptions say how a minion trusts and speaks.
type ClientOptions struct {
	ID             string
	EncAlgo        string        // encryption_algorithm; empty means OAEP-SHA1
	SigAlgo        string        // signing_algorithm; empty means PKCS1v15-SHA1
	Timeout        time.Duration // of one request (request_channel_timeout)
	Tries          int           // of one request (request_channel_tries)
	AuthTimeout    time.Duration // of one sign-in request
	AuthTries      int
	Newest         int              // newest protocol version to speak; 0 means Version
	Fingerprint    string           // master_finger; empty means any
	HashType       string           // of the fingerprint
	OpenMode       bool             // any master will do (open_mode)
	VerifySigned   bool             // the master's key must be signed (verify_master_pubkey_sign)
	AlwaysVerify   bool             // also when it is known (always_verify_signature)
	RequireSigned  bool             // publications without a signature are refused (sign_pub_messages)
	AllowUnsigned  bool             // accept masters that sign nothing (versions 0 and 1)
	AutosignGrains func() *data.Map // what is sent with each sign-in (autosign_grains); nil is none
	OnSignIn       func(error)      // told of each sign-in, with nil for success; may be nil
	Log            logrus.FieldLogger
	MaxReply       int // longest reply, in bytes; 0 means 100 MiB
}

// Keys is what a [Client] needs of the minion's key directory.
type Keys interface {
	// Master returns the PEM text of the stored key of the master, or "" where there is none.
	Master() (pem string, err error)
	// SetMaster stores the master's key.
	SetMaster(pem string) error
	// Signing returns the PEM text of the key that signs masters' keys.
	Signing() (pem string, err error)
}

// An Heir is a [Keys] that lets a master hand over to another key. Without it a master's key never changes but by pub_sig.
type Heir interface {
	// Heard returns what is known of keys that the master has left.
	Heard() (pki.Heard, error)
	// Succeed stores another key of the master, to which the statement of that number has led. The old key is one that the master
	// has left from then on.
	Succeed(pem string, serial int64) error
	// WasTrusted reports whether a key that the master has left has a fingerprint, as one in master_finger.
	WasTrusted(finger, hash string) bool
}

// A Client is a minion's side of the request port, and what it needs to read the publish port. Several goroutines may
// use it: one signs in, and those that need the result wait for it.
type Client struct {
	opts  ClientOptions
	key   *crypto.PrivateKey
	token string // what proves the master: only the holder of its key can send it back
	proof []byte // what proves the minion: X9.31 of tokenText
	keys  Keys
	out   transport.Requester
	nonce func() string // makes the nonce of a request

	mu        sync.Mutex
	creds     *Credentials
	inFlight  *signInCall
	forced    [renewTimes]time.Time // when publications made it sign in, the last at the end
	serialKey string                // the shared key that serial counts for
	serial    *crypto.Serial
}

// Credentials are what a master gives a minion that has signed in.
type Credentials struct {
	Shared      *crypto.Crypticle
	Session     *crypto.Crypticle // nil under protocol version 2 and older
	PublishPort int
	Version     int // that requests use from now on
	MasterKey   *crypto.PublicKey
}

// requestKey returns the key of requests.
func (c *Credentials) requestKey() *crypto.Crypticle {
	if c.Version >= 3 {
		return c.Session
	}
	return c.Shared
}

// NewClient returns a client that speaks over out with the minion's key.
func NewClient(key *crypto.PrivateKey, keys Keys, out transport.Requester, o ClientOptions) (*Client, error) {
	proof, err := key.EncryptX931([]byte(tokenText))
	if err != nil {
		return nil, fmt.Errorf("prove minion %s: %w", o.ID, err)
	}
	return &Client{opts: o, key: key, token: crypto.NewKeyString(), proof: proof, keys: keys, out: out, nonce: newNonce}, nil
}

func newNonce() string { return randomHex(nonceLen / 2) }

// limits bound the replies to requests.
func (c *Client) limits() payload.Limits {
	l := payload.WireLimits()
	if c.opts.MaxReply > 0 {
		l.Size = c.opts.MaxReply
	}
	return l
}

// Credentials returns those of the last sign-in, or nil.
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

// Do sends an encrypted request and returns the MessagePack of its reply. A request whose reply does not open is sent
// once more after a new sign-in, as after a restart of the master. load must hold cmd; what proves the sender is added.
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

// Pillar sends a _pillar request and returns the pillar. Only this minion could read it, and only its master could
// have sent it as answer to this request (salt/channel/client.py, crypted_transfer_decode_dictentry).
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
		return nil, fmt.Errorf("pillar: %w: it is no map", ErrBadReply)
	}
	return m, nil
}

// retry sends load until read can make sense of the reply, within the tries allowed. One new sign-in, after a reply
// that does not open, is not counted as a try.
func (c *Client) retry(ctx context.Context, load *data.Map, read func(*Credentials, string, []byte) error) error {
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

func (c *Client) once(ctx context.Context, creds *Credentials, load *data.Map, read func(*Credentials, string, []byte) error) error {
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
		outer.Set("enc_algo", orDefault(c.opts.EncAlgo, crypto.OAEPSHA1))
		outer.Set("sig_algo", orDefault(c.opts.SigAlgo, crypto.SHA1Sign))
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

// needsToken reports whether a version 2 master wants proof with cmd. Elsewhere the proof would lie about in events
// and job records, and _file_envs fails when it comes (Salt 3006.0).
func needsToken(cmd string) bool {
	switch cmd {
	case "_master_tops", "_minion_event", "_mine", "_mine_get", "_mine_delete", "_mine_flush", "_file_recv",
		"minion_runner", "minion_pub", "minion_publish", "pub_ret", "revoke_auth":
		return true
	}
	return false
}

// openReply opens the reply to an encrypted request. Unlike Salt's minion it takes no bare null or empty text for an
// answer: no master sends one, and anybody on the way could, to make a return look delivered.
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

// openPrivate opens a reply that only this minion may read.
func (c *Client) openPrivate(creds *Credentials, body []byte, name, nonce string) (any, error) {
	reply, err := payload.ParseFields(body, c.limits())
	wrapped, hasKey := reply.Bytes("key")
	sealed, hasBody := reply.Bytes(name)
	if err != nil || !hasKey || !hasBody {
		return nil, fmt.Errorf("%s without a key: %w", name, crypto.ErrAuthentication)
	}
	text, err := c.key.Decrypt(wrapped, orDefault(c.opts.EncAlgo, crypto.OAEPSHA1))
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", name, err)
	}
	once, err := crypto.NewCrypticle(string(text))
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", name, err)
	}
	plain, err := once.Open(sealed, "")
	if err != nil || creds.Version < 2 {
		return c.decode(plain, err)
	}
	return c.openSigned(creds, plain, wrapped, name, nonce)
}

// decode reads what a private reply of an old version holds, unless it did not open.
func (c *Client) decode(plain []byte, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return payload.Unmarshal(plain, c.limits())
}

func (c *Client) openSigned(creds *Credentials, plain, wrapped []byte, name, nonce string) (any, error) {
	outer, err := payload.ParseFields(plain, c.limits())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrBadReply, err)
	}
	signed, _ := outer.Bytes("data")
	sig, _ := outer.Bytes("sig")
	if err := creds.MasterKey.Verify(signed, sig, orDefault(c.opts.SigAlgo, crypto.SHA1Sign)); err != nil {
		// It may have another key by now, which a new sign-in tells.
		return nil, fmt.Errorf("%s is not signed by the master: %w: %w", name, ErrBadReply, crypto.ErrAuthentication)
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

// forget drops creds, unless others took their place meanwhile.
func (c *Client) forget(creds *Credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.creds == creds {
		c.creds = nil
	}
}

// Publications that do not open may make a client sign in so many times within so long. It keeps garbage on the publish port
// from becoming a storm of sign-ins; a master makes new keys far less often, but may do so several times in a row, as when keys
// are deleted one by one.
const (
	renewTimes  = 4
	renewWithin = 20 * time.Second
)

// renew is forget for the sake of a publication. It reports whether there may be other credentials now.
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
