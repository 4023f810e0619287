package channel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// signInCall is a sign-in in progress, which other callers may wait for.
type signInCall struct {
	done      chan struct{}
	creds     *Credentials
	err       error
	abandoned bool // its caller's context ended; a waiting caller must sign in itself
}

var errAbandoned = errors.New("the sign-in was abandoned")

// signedIn returns the credentials, and signs in if there are none.
func (c *Client) signedIn(ctx context.Context) (*Credentials, error) {
	for {
		creds, call, mine := c.joinSignIn()
		switch {
		case creds != nil:
			return creds, nil
		case mine:
			c.runSignIn(ctx, call)
			return call.creds, call.err
		}
		select {
		case <-call.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !call.abandoned {
			return call.creds, call.err
		}
	}
}

// joinSignIn returns the credentials, or the sign-in in progress. If mine is set the caller must
// run it.
func (c *Client) joinSignIn() (creds *Credentials, call *signInCall, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.creds != nil || c.inFlight != nil {
		return c.creds, c.inFlight, false
	}
	c.inFlight = &signInCall{done: make(chan struct{}), err: errAbandoned, abandoned: true}
	return nil, c.inFlight, true
}

// runSignIn signs in for all waiting callers.
func (c *Client) runSignIn(ctx context.Context, call *signInCall) {
	defer c.endSignIn(call)
	call.creds, call.err = c.signIn(ctx)
	call.abandoned = call.err != nil && ctx.Err() != nil
}

func (c *Client) endSignIn(call *signInCall) {
	c.mu.Lock()
	c.inFlight = nil
	if call.err == nil {
		c.creds = call.creds
	}
	c.mu.Unlock()
	close(call.done)
	if c.opts.OnSignIn != nil {
		c.opts.OnSignIn(call.err)
	}
}

// SignIn signs in, even if there are credentials. The error wraps ErrPending, ErrRejected, ErrFull,
// ErrMasterKey, ErrFingerprint, ErrBadReply or ErrDowngrade, or is an error of the transport. A
// refusal that no known master signed also wraps ErrUnproved.
func (c *Client) SignIn(ctx context.Context) (*Credentials, error) {
	c.Forget()
	return c.signedIn(ctx)
}

func (c *Client) signIn(ctx context.Context) (*Credentials, error) {
	var err error
	for left := max(c.opts.AuthTries, 1); left > 0; left-- {
		var creds *Credentials
		if creds, err = c.signInOnce(ctx); err == nil {
			return creds, nil
		}
		if isFinal(err) || ctx.Err() != nil {
			break
		}
		if left > 1 && pause(ctx, err) != nil {
			break
		}
	}
	return nil, fmt.Errorf("sign in: %w", err)
}

// Maximum pauses before the next attempt. The actual pauses are random, so that a fleet does not
// retry all at once.
const (
	busyPause  = 10 * time.Second // after a reply that the master is busy
	retryPause = time.Second
)

// pause waits before the next attempt. It returns an error if ctx ends first.
func pause(ctx context.Context, err error) error {
	most := retryPause
	if errors.Is(err, ErrBusy) {
		most = busyPause
	}
	return clock.Sleep(ctx, rand.N(most))
}

// isFinal reports whether an immediate retry cannot change err.
func isFinal(err error) bool {
	for _, final := range []error{ErrPending, ErrRejected, ErrFull, ErrMasterKey, ErrFingerprint,
		ErrDowngrade} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

func (c *Client) signInOnce(ctx context.Context) (*Credentials, error) {
	if c.opts.AuthTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opts.AuthTimeout)
		defer cancel()
	}
	stored, err := c.storedKey()
	if err != nil {
		return nil, err
	}
	a := attempt{client: c, nonce: c.nonce(), stored: stored}
	body, err := a.request()
	if err != nil {
		return nil, err
	}
	reply, err := c.out.Do(ctx, body)
	if err != nil {
		return nil, err
	}
	return a.read(reply)
}

// storedKey returns the stored key of the master, or nil.
func (c *Client) storedKey() (*crypto.PublicKey, error) {
	text, err := c.keys.Master()
	if err != nil || text == "" {
		return nil, err
	}
	key, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(text)))
	if err != nil {
		return nil, fmt.Errorf("parse stored key of the master: %w", err)
	}
	return key, nil
}

// attempt is one sign-in request and its reply (salt/crypt.py, AsyncAuth.sign_in and
// handle_signin_response).
type attempt struct {
	client   *Client
	nonce    string
	stored   *crypto.PublicKey // the stored key of the master; nil on first contact
	hasToken bool
	serial   int64 // serial of the hand-over from the stored key to the new one; 0 means none
}

func (a *attempt) request() ([]byte, error) {
	c := a.client
	load := data.NewMap("cmd", "_auth", "id", c.opts.ID, "nonce", a.nonce)
	if a.stored != nil {
		token, err := a.stored.Encrypt([]byte(c.token), c.encAlgo())
		if err != nil {
			return nil, fmt.Errorf("encrypt token for the master: %w", err)
		}
		load.Set("token", token)
		a.hasToken = true
	}
	load.Set("pub", c.key.Public().PEM())
	load.Set("enc_algo", c.encAlgo())
	load.Set("sig_algo", c.sigAlgo())
	load.Set(brineField, true)
	if c.opts.AutosignGrains != nil {
		if grains := c.opts.AutosignGrains(); grains != nil {
			load.Set("autosign_grains", grains)
		}
	}
	return payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(c.newest())))
}

func (c *Client) newest() int {
	if c.opts.Newest > 0 {
		return c.opts.Newest
	}
	return Version
}

func (c *Client) encAlgo() string { return cmp.Or(c.opts.EncAlgo, crypto.OAEPSHA1) }
func (c *Client) sigAlgo() string { return cmp.Or(c.opts.SigAlgo, crypto.SHA1Sign) }

// read verifies and decodes the reply, in the same order as Salt's minion.
func (a *attempt) read(reply []byte) (*Credentials, error) {
	outer, err := payload.ParseFields(reply, payload.PreAuthLimits())
	if err != nil {
		return nil, fmt.Errorf("%w: %q", ErrBadReply, clip(reply))
	}
	if outer.Has("pub_key") {
		return a.readUnsigned(outer)
	}
	if refusal, err := payload.ParseFields(outer.Raw("load"), payload.PreAuthLimits()); err == nil {
		return nil, a.unsignedRefusal(refusal)
	}
	signed, ok := outer.Bytes("load")
	if !ok {
		return nil, fmt.Errorf("%w: no load", ErrBadReply)
	}
	sig, _ := outer.Bytes("sig")
	inner, err := payload.ParseFields(signed, payload.PreAuthLimits())
	if err != nil {
		return nil, fmt.Errorf("%w: load is not a map", ErrBadReply)
	}
	return a.readSigned(inner, signed, sig)
}

func clip(b []byte) []byte { return b[:min(len(b), 80)] }

// unsignedRefusal returns the error for a reply that anybody could have sent. Without a signature
// only a refusal of algorithm names and a request to come again are accepted.
func (a *attempt) unsignedRefusal(load payload.Fields) error {
	switch ret, _ := load.Text("ret"); ret {
	case "bad enc algo", "bad sig algo":
		return fmt.Errorf("%w: %s", ErrBadReply, ret)
	case retBusy:
		return ErrBusy
	}
	if !a.client.opts.AllowUnsigned {
		return fmt.Errorf("%w: an unsigned refusal is not trusted", ErrBadReply)
	}
	return unproved(verdict(load))
}

// unproved wraps a refusal that no known master signed.
func unproved(refusal error) error { return fmt.Errorf("%w (%w)", refusal, ErrUnproved) }

func (a *attempt) readSigned(inner payload.Fields, signed, sig []byte) (*Credentials, error) {
	nonce, _ := inner.Text("nonce")
	if subtle.ConstantTimeCompare([]byte(nonce), []byte(a.nonce)) != 1 {
		return nil, fmt.Errorf("%w: it answers another request (Invalid nonce)", ErrBadReply)
	}
	master, text, err := a.masterKey(inner)
	if err != nil {
		return nil, err
	}
	if master != nil {
		if err := master.Verify(signed, sig, a.client.sigAlgo()); err != nil {
			if a.mayBeAnother(inner) {
				return nil, unproved(verdict(inner))
			}
			return nil, a.wrongSignature(inner)
		}
	}
	if inner.Has("ret") {
		if a.stored == nil || !a.stored.Equal(master) {
			return nil, unproved(verdict(inner))
		}
		return nil, verdict(inner)
	}
	if master == nil || text == "" {
		return nil, fmt.Errorf("%w: no key of the master", ErrBadReply)
	}
	if err := a.checkFingerprint(text); err != nil {
		return nil, err
	}
	creds, err := a.credentials(inner, master, 2)
	if err != nil {
		return nil, err
	}
	return creds, a.store(inner, master, text)
}

// wrongSignature returns the error for a reply whose signature is wrong. A refusal comes without the
// master's key, so that another master than the trusted one shows in nothing else.
func (a *attempt) wrongSignature(inner payload.Fields) error {
	if a.stored != nil && !inner.Has("pub_key") {
		return fmt.Errorf("%w: Invalid signature: %w", ErrBadReply, ErrOtherMaster)
	}
	return fmt.Errorf("%w: Invalid signature", ErrBadReply)
}

// mayBeAnother reports whether a reply that the stored key has not signed may be the refusal of
// another master, whose key is signed. Such a refusal comes without that key.
func (a *attempt) mayBeAnother(inner payload.Fields) bool {
	return a.client.opts.VerifySigned && inner.Has("ret") && !inner.Has("pub_key")
}

// readUnsigned reads the acceptance of a master of version 0 or 1.
func (a *attempt) readUnsigned(fields payload.Fields) (*Credentials, error) {
	if !a.client.opts.AllowUnsigned {
		return nil, ErrDowngrade
	}
	master, text, err := a.masterKey(fields)
	if err != nil {
		return nil, err
	}
	if err := a.checkFingerprint(text); err != nil {
		return nil, err
	}
	creds, err := a.credentials(fields, master, 0)
	if err != nil {
		return nil, err
	}
	return creds, a.store(fields, master, text)
}

// verdict turns a refusal into an error.
func verdict(f payload.Fields) error {
	if accepted, ok := f.Bool("ret"); ok && accepted {
		return ErrPending
	} else if denied, _ := f.Bool(deniedField); ok && denied {
		return fmt.Errorf("%w: %w", ErrRejected, ErrDenied)
	} else if ok {
		return ErrRejected
	}
	if text, ok := f.Text("ret"); ok && text == "full" {
		return ErrFull
	} else if ok {
		return fmt.Errorf("%w: %s", ErrBadReply, text)
	}
	return fmt.Errorf("%w: neither keys nor a refusal", ErrBadReply)
}

// masterKey returns the key that must have signed the reply: the stored one, or the one in the
// reply if it may be trusted. It returns nil for a refusal by a master that is not known yet. text
// is the PEM text of the key in the reply.
func (a *attempt) masterKey(f payload.Fields) (key *crypto.PublicKey, text string, err error) {
	text, ok := f.Text("pub_key")
	if !ok {
		return a.stored, "", nil
	}
	key, err = crypto.ParsePublicKey([]byte(text))
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrMasterKey, err)
	}
	return key, text, a.trust(f, key, text)
}

// trust returns an error unless key may be the master's (salt/crypt.py, verify_master).
func (a *attempt) trust(f payload.Fields, key *crypto.PublicKey, text string) error {
	o := &a.client.opts
	if f.Has("pub_sig") != o.VerifySigned {
		return fmt.Errorf("%w: %s", ErrMasterKey, signingMismatch(o.VerifySigned))
	}
	known := a.stored != nil && a.stored.Equal(key)
	switch {
	case o.VerifySigned && (!known || o.AlwaysVerify):
		err := a.verifySigned(f, text)
		if err == nil && !known && a.stored != nil {
			// the signature suffices, but master_finger may name an earlier key of the master
			_ = a.follow(f, key)
		}
		return err
	case known, a.stored == nil, o.OpenMode:
		return nil
	}
	err := a.follow(f, key)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: it has changed (%w); if that is intended, remove the stored key and restart",
		ErrMasterKey, err)
}

// follow verifies a hand-over from the stored key of the master to key.
func (a *attempt) follow(f payload.Fields, key *crypto.PublicKey) error {
	heir, ok := a.client.keys.(Heir)
	if !ok {
		return pki.ErrHandover
	}
	heard, err := heir.Heard()
	if err != nil {
		return err
	}
	_, a.serial, err = pki.ChainOf(f.Value(handoverField)).Follow(a.stored, key, heard)
	return err
}

func signingMismatch(wanted bool) string {
	if wanted {
		return "verify_master_pubkey_sign is on but the master does not sign its key"
	}
	return "the master signs its key but verify_master_pubkey_sign is off"
}

// verifySigned checks that one of the signing keys has signed the master's key.
func (a *attempt) verifySigned(f payload.Fields, text string) error {
	pems, err := a.client.keys.Signing()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMasterKey, err)
	}
	encoded, _ := f.Text("pub_sig")
	sig, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return fmt.Errorf("%w: signature of the master's key: %w", ErrMasterKey, err)
	}
	var unreadable []error
	for _, pem := range pems {
		signing, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(pem)))
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("signing key: %w", err))
			continue
		}
		if signing.Verify([]byte(text), sig, a.client.sigAlgo()) == nil {
			return nil
		}
	}
	if len(unreadable) > 0 {
		return fmt.Errorf("%w: %w", ErrMasterKey, errors.Join(unreadable...))
	}
	return fmt.Errorf("%w: the signature of the master's key is wrong", ErrMasterKey)
}

// checkFingerprint compares the master's key with master_finger. Salt hashes the file as it stores
// it, so the key is hashed as received.
func (a *attempt) checkFingerprint(text string) error {
	want := a.client.opts.Fingerprint
	if want == "" {
		return nil
	}
	got, err := crypto.Fingerprint([]byte(text), cmp.Or(a.client.opts.HashType, "sha256"))
	if err != nil {
		return fmt.Errorf("compute fingerprint of the master's key: %w", err)
	}
	if !strings.EqualFold(got, want) && !a.wasTrusted(text, want) {
		return fmt.Errorf("%w: it is %s and %s is %s", ErrFingerprint, got,
			cmp.Or(a.client.opts.FingerOption, "master_finger"), want)
	}
	return nil
}

// wasTrusted reports whether master_finger names an earlier key of the master that has handed over
// to this one.
func (a *attempt) wasTrusted(text, want string) bool {
	heir, ok := a.client.keys.(Heir)
	if !ok || a.stored == nil || a.serial == 0 && !crypto.SameKey(a.stored.PEM(), text) {
		return false
	}
	hash := cmp.Or(a.client.opts.HashType, "sha256")
	got, err := crypto.Fingerprint([]byte(a.stored.PEM()), hash)
	return err == nil && strings.EqualFold(got, want) || heir.WasTrusted(want, hash)
}

// store stores the master's key on first contact, or after it has changed legitimately. If the
// connection to another master has stored its key since this sign-in began, the one in the reply f
// is judged by that.
func (a *attempt) store(f payload.Fields, key *crypto.PublicKey, text string) error {
	for {
		err := a.storeOnce(key, text)
		if !errors.Is(err, pki.ErrChanged) {
			return err
		}
		a.serial = 0
		if a.stored, err = a.client.storedKey(); err != nil {
			return err
		}
		if err := a.trust(f, key, text); err != nil {
			return err
		}
	}
}

func (a *attempt) storeOnce(key *crypto.PublicKey, text string) error {
	before := ""
	if a.stored != nil {
		if a.stored.Equal(key) {
			return nil
		}
		before = a.stored.PEM()
	}
	if heir, ok := a.client.keys.(Heir); ok && a.serial > 0 {
		return heir.Succeed(before, text, a.serial)
	}
	if err := a.client.keys.SetMaster(before, text); err != nil {
		return fmt.Errorf("store the master's key: %w", err)
	}
	return nil
}

// credentials decrypts the session keys. version is the lowest protocol version that the form of
// the reply implies.
func (a *attempt) credentials(
	f payload.Fields, master *crypto.PublicKey, version int,
) (*Credentials, error) {
	shared, err := a.secret(f, "aes")
	if err != nil {
		return nil, err
	}
	if err := checkDigest(f, master, shared.Key()); err != nil {
		return nil, err
	}
	if err := a.checkToken(f, master); err != nil {
		return nil, err
	}
	port, _ := f.Int("publish_port")
	creds := &Credentials{Shared: shared, PublishPort: int(port), Version: version,
		MasterKey: master}
	if version < 2 || !f.Has("session") || a.client.newest() < Version {
		return creds, nil
	}
	creds.Version = Version
	creds.Session, err = a.secret(f, "session")
	return creds, err
}

// secret decrypts one session key. It accepts the form aes_|-token of auth_mode 2.
func (a *attempt) secret(f payload.Fields, name string) (*crypto.Crypticle, error) {
	sealed, _ := f.Bytes(name)
	text, err := a.client.key.Decrypt(sealed, a.client.encAlgo())
	if err != nil {
		return nil, fmt.Errorf("%w: %s key: %w", ErrBadReply, name, err)
	}
	key, _, _ := strings.Cut(string(text), "_|-")
	c, err := crypto.NewCrypticle(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %s key: %w", ErrBadReply, name, err)
	}
	return c, nil
}

// checkDigest verifies that the master signed the shared key.
func checkDigest(f payload.Fields, master *crypto.PublicKey, key string) error {
	sig, _ := f.Bytes("sig")
	digest, err := master.RecoverX931(sig)
	want := sha256.Sum256([]byte(key))
	if err != nil || subtle.ConstantTimeCompare(digest, []byte(hex.EncodeToString(want[:]))) != 1 {
		return fmt.Errorf("%w: the session key is not the master's", ErrMasterKey)
	}
	return nil
}

// checkToken verifies that the master could decrypt the token, if one was sent for its key.
func (a *attempt) checkToken(f payload.Fields, master *crypto.PublicKey) error {
	if !a.hasToken || !a.stored.Equal(master) {
		return nil
	}
	sealed, _ := f.Bytes("token")
	token, err := a.client.key.Decrypt(sealed, a.client.encAlgo())
	if err != nil || subtle.ConstantTimeCompare(token, []byte(a.client.token)) != 1 {
		return fmt.Errorf("%w: it could not read the token", ErrMasterKey)
	}
	return nil
}
