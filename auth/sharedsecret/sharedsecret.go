// Package sharedsecret accepts every user who knows the option sharedsecret, under any name
// (salt/auth/sharedsecret.py). It is meant for a front-end that authenticates its users itself.
package sharedsecret

import (
	"context"
	"crypto/subtle"
	"errors"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

type secret string

var _ auth.System = secret("")

// Open returns the system described by the option sharedsecret of a master. An empty secret is an
// error.
func Open(opts *data.Map) (auth.System, error) {
	s, _ := opts.Value("sharedsecret").(string)
	if s == "" {
		return nil, errors.New("the option sharedsecret is missing")
	}
	return secret(s), nil
}

// Login reports whether the password equals the secret.
func (s secret) Login(_ context.Context, l auth.Login) (bool, error) {
	return subtle.ConstantTimeCompare([]byte(s), []byte(l.Password)) == 1, nil
}
