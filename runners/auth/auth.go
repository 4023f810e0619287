// Package auth is Salt's runner auth: it makes and deletes tokens (salt/runners/auth.py). mk_key,
// list_keys and del_key, for API keys, are not in Salt.
package auth

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Tokens makes and deletes tokens and API keys.
type Tokens interface {
	// Make asks the master for a token for the credentials in fields; nil if they are wrong.
	Make(ctx context.Context, fields *data.Map) (any, error)
	// Delete removes a token and reports whether it existed. An invalid token is an error.
	Delete(ctx context.Context, token string) (bool, error)
	// Store opens the API keys, calls do with them, and closes them. It returns the error of do.
	Store(ctx context.Context, do func(Keys) error) error
}

// Plugin returns the runner auth.
func Plugin(t Tokens) loader.Plugin {
	return loader.Plugin{Name: "auth", New: func(env *loader.Env) (*loader.Module, error) {
		if t == nil {
			return nil, errors.New("no token store is configured")
		}
		m := &module{t, env}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("mk_token", m.mkToken).SecretResult(),
			loader.F("del_token", m.delToken).Secret("token"),
			loader.F("mk_key", m.mkKey).SecretResult("secret"),
			loader.F("list_keys", m.listKeys),
			loader.F("del_key", m.delKey),
		}}, nil
	}}
}

type module struct {
	tokens Tokens
	env    *loader.Env
}

type mkTokenArgs struct {
	Load *data.Map `kwargs:"load"`
}

// mkToken makes a token for credentials of external_auth. The master must be running.
//
// token_expire
//
//	The token's lifetime in seconds, if token_expire_user_override allows it.
//
// CLI Example:
//
//	salt-run auth.mk_token username=saltdev password=saltdev eauth=auto
//	salt-run auth.mk_token username=saltdev password=saltdev eauth=auto token_expire=94670856
func (m *module) mkToken(ctx context.Context, a mkTokenArgs) (any, error) {
	return m.tokens.Make(ctx, runners.Words(a.Load))
}

type delTokenArgs struct{ Token string }

// delToken deletes a token and returns whether it existed.
//
// CLI Example:
//
//	salt-run auth.del_token 6556760736e4077daa601baec2b67c24
func (m *module) delToken(ctx context.Context, a delTokenArgs) (any, error) {
	return m.tokens.Delete(ctx, a.Token)
}
