package netapi

import (
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/brineproject/brine/auth"
)

// credentials are the tokens of the master, and those that were valid once.
type credentials struct {
	gate *Options
	past *past
}

var errNoToken = errors.New("no such token")

// find returns a token that counts now.
func (c *credentials) find(value string) (Token, error) {
	if !isHex(value) {
		return Token{}, errNoToken
	}
	m, err := c.gate.Tokens.Get(value)
	if old, ok := errors.AsType[*auth.ExpiredError](err); ok {
		t := Token{Value: value, User: old.User, Eauth: old.System, Expire: old.Expire}
		c.past.note(value, trace{t.User, t.rejection("").Key, t.Expire, expiredSince(t.Expire)})
	}
	if err != nil {
		c.past.lost(value, c.gate.Now())
		return Token{}, err
	}
	t, ok := tokenOf(m)
	if !ok || t.Value != value {
		return Token{}, errNoToken
	}
	c.past.note(value, trace{t.User, t.rejection("").Key, t.Expire, ""})
	if !c.gate.Now().Before(t.Expire) {
		c.past.lost(value, c.gate.Now())
		return Token{}, errNoToken
	}
	return t, nil
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && s != "" && len(s) <= 256
}

// refuse returns the fault of a credential, with a text that Salt has for it unless it was an API key. A
// request without a credential is nothing for the log.
func (c *credentials) refuse(credential, text string) *Fault {
	if credential == "" {
		return fault(http.StatusUnauthorized, "%s", text)
	}
	return refuseFor(c.past.rejection(credential), text)
}

// explain adds to the refusal of an order by the master whether its token is valid.
func (c *credentials) explain(token string, err error) error {
	f, ok := errors.AsType[*Fault](err)
	if !ok || f.Status != http.StatusUnauthorized || token == "" {
		return err
	}
	if _, ok := errors.AsType[*Rejection](err); ok {
		return err
	}
	explained := *f
	if t, err := c.find(token); err == nil {
		explained.Err = t.rejection(whyScope)
	} else {
		explained.Err = c.past.rejection(token)
	}
	return &explained
}
