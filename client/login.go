package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/transport"
)

// ErrNoToken is returned by MakeToken if the login is valid, but the master could not create a
// token.
var ErrNoToken = errors.New("the master did not create a token")

// LogIn makes l authenticate its user with fields of external_auth instead of the key file: token,
// or eauth, username and password.
func (l *Local) LogIn(fields *data.Map) { l.login = fields }

// MakeToken returns a token for a login: eauth, username and password. The error is
// ErrNotAuthenticated for a wrong login; it may also be ErrNoToken or ErrTimeout.
func (l *Local) MakeToken(ctx context.Context, login *data.Map) (string, error) {
	m, err := MakeToken(ctx, l.opts.Out, l.opts.Timeout, login)
	return m.Text("token"), err
}

// MakeToken is Local.MakeToken without a connection to the bus. It returns what the token holds:
// token, name, eauth, start, expire, and groups if there are any. The master behind out answers
// within timeout.
func MakeToken(
	ctx context.Context, out transport.Requester, timeout time.Duration, login *data.Map,
) (*data.Map, error) {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	load := login.Clone()
	load.Set("cmd", "mk_token")
	reply, err := channel.Clear(ctx, out, load)
	switch m, isMap := reply.(*data.Map); {
	case errors.Is(err, context.DeadlineExceeded) && whole.Err() == nil:
		return nil, ErrTimeout
	case err != nil:
		return nil, err
	case reply == "":
		return nil, ErrNotAuthenticated
	case !isMap:
		return nil, fmt.Errorf("mk_token: unexpected reply of the master: %q", data.Str(reply))
	case m.Text("token") == "":
		return nil, ErrNoToken
	default:
		return m, nil
	}
}

// kwargs returns the options of a request, with the login if there is one.
func (l *Local) kwargs(r Request) *data.Map {
	if l.login.Len() == 0 {
		return r.Kwargs
	}
	m := data.NewMap()
	m.Update(r.Kwargs)
	m.Update(l.login)
	return m
}
