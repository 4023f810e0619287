package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// OpenPublication verifies, decrypts and decodes a message of the publish port. If the key does not
// match it signs in and tries once more, since the master may have a new key. It does so at most
// four times in 20 seconds, so that garbage cannot cause endless sign-ins. The error wraps
// ErrNotEncrypted, ErrStale, crypto.ErrAuthentication, ErrBadReply, or errors of payload and job
// for malformed messages. None of them is a reason to stop listening.
func (c *Client) OpenPublication(ctx context.Context, body []byte) (*job.Publication, error) {
	outer, err := payload.ParseFields(body, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("open publication: %w", err)
	}
	if enc, _ := outer.Text("enc"); enc != "aes" {
		return nil, ErrNotEncrypted
	}
	blob, _ := outer.Bytes("load")
	creds, err := c.signedIn(ctx)
	if err != nil {
		return nil, err
	}
	plain, err := creds.Shared.Open(blob, "")
	if errors.Is(err, crypto.ErrAuthentication) && c.renew(creds) {
		if creds, err = c.signedIn(ctx); err != nil {
			return nil, err
		}
		plain, err = creds.Shared.Open(blob, "")
	}
	if err != nil {
		return nil, fmt.Errorf("open publication: %w", err)
	}
	if err := c.checkSignature(creds, outer, blob); err != nil {
		return nil, err
	}
	return c.readPublication(creds, plain)
}

// checkSignature rejects publications that another minion could have made, since all know the
// shared key.
func (c *Client) checkSignature(creds *Credentials, outer payload.Fields, blob []byte) error {
	if !outer.Has("sig") {
		if c.opts.RequireSigned {
			return fmt.Errorf("publication: %w: it is not signed; for a master that does not sign set "+
				"sign_pub_messages: false on the minion", ErrBadReply)
		}
		return nil
	}
	sig, _ := outer.Bytes("sig")
	alg, _ := outer.Text("sig_algo")
	if err := creds.MasterKey.Verify(blob, sig, cmp.Or(alg, crypto.SHA1Sign)); err != nil {
		return fmt.Errorf("publication: %w: invalid signature", ErrBadReply)
	}
	return nil
}

// serialOf returns the serial state of publications under key. It is kept over a new sign-in with
// the same key.
func (c *Client) serialOf(key *crypto.Crypticle) *crypto.Serial {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serialKey != key.Key() {
		c.serialKey, c.serial = key.Key(), &crypto.Serial{}
	}
	return c.serial
}

func (c *Client) readPublication(creds *Credentials, plain []byte) (*job.Publication, error) {
	v, err := payload.Unmarshal(plain, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("open publication: %w", err)
	}
	load, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("publication: %w: it is not a map", ErrBadReply)
	}
	number := load.Value("serial")
	if !c.serialOf(creds.Shared).Take(load) {
		return nil, fmt.Errorf("publication %s: %w", data.Str(number), ErrStale)
	}
	return job.ParsePublication(load)
}
