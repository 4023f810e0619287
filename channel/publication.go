package channel

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// OpenPublication checks, decrypts and reads what the publish port sent. When the key does not fit it signs in again
// and tries once more, since the master may have a new one: at once, but at most four times in 20 seconds, so
// that garbage cannot make it sign in without end. The error wraps ErrNotEncrypted, ErrStale,
// crypto.ErrAuthentication, ErrBadReply or those of payload and job for what is no publication; none of them is a
// reason to stop listening.
func (c *Client) OpenPublication(ctx context.Context, body []byte) (*job.Publication, error) {
	outer, err := payload.ParseFields(body, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("publication: %w", err)
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
		return nil, fmt.Errorf("publication: %w", err)
	}
	if err := c.checkSignature(creds, outer, blob); err != nil {
		return nil, err
	}
	return c.readPublication(creds, plain)
}

// checkSignature refuses what another minion, which knows the shared key too, could have made.
func (c *Client) checkSignature(creds *Credentials, outer payload.Fields, blob []byte) error {
	if !outer.Has("sig") {
		if c.opts.RequireSigned {
			return fmt.Errorf("publication: %w: it is not signed; a master that does not sign needs "+
				"sign_pub_messages: false on the minion", ErrBadReply)
		}
		return nil
	}
	sig, _ := outer.Bytes("sig")
	alg, _ := outer.Text("sig_algo")
	if err := creds.MasterKey.Verify(blob, sig, orDefault(alg, crypto.SHA1Sign)); err != nil {
		return fmt.Errorf("publication: %w: its signature is wrong", ErrBadReply)
	}
	return nil
}

// serialOf returns the count of the publications under key. It outlasts a new sign-in that brings the same key.
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
		return nil, fmt.Errorf("publication: %w", err)
	}
	load, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("publication: %w: it is no map", ErrBadReply)
	}
	number := load.Value("serial")
	if !c.serialOf(creds.Shared).Take(load) {
		return nil, fmt.Errorf("publication %s: %w", data.Str(number), ErrStale)
	}
	return job.ParsePublication(load)
}
