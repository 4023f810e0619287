// Package sharedsecret lets everybody in, under any name, who knows the option sharedsecret (salt/auth/sharedsecret.py). It is
// for a program in front of the master that knows its users itself.
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

// Open returns the system that the option sharedsecret of a master describes. An empty secret is an error.
func Open(opts *data.Map) (auth.System, error) {
	s, _ := opts.Value("sharedsecret").(string)
	if s == "" {
		return nil, errors.New("the option sharedsecret is missing")
	}
	return secret(s), nil
}

// Login reports whether the password is the secret.
func (s secret) Login(_ context.Context, l auth.Login) (bool, error) {
	return subtle.ConstantTimeCompare([]byte(s), []byte(l.Password)) == 1, nil
}
