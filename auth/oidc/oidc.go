// Package oidc is the external_auth system oidc. Its users log in at a provider of OpenID Connect,
// through salt-api, which writes their tokens: package netapi/oidc. A master only has their rights.
package oidc

import (
	"context"
	"errors"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

type system struct{}

var _ auth.System = system{}

var errPassword = errors.New("oidc has no passwords: log in at /oidc/login of salt-api")

// Open returns the system.
func Open(*data.Map) (auth.System, error) { return system{}, nil }

// Login refuses every password.
func (system) Login(context.Context, auth.Login) (bool, error) { return false, errPassword }
