package master

import (
	"context"
	"errors"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
)

// tokens handles the commands about tokens (salt/master.py, ClearFuncs.mk_token and get_token).
type tokens struct{ gate *gatekeeper }

// tokenCommands returns the unencrypted commands about tokens.
func tokenCommands(gate *gatekeeper) map[string]command {
	t := &tokens{gate}
	return map[string]command{"mk_token": {do: t.make}, "get_token": {do: t.get}}
}

// make creates a token for a login. It replies with "" to a wrong one.
func (t *tokens) make(ctx context.Context, c *channel.Command) (any, error) {
	credentials := claimed(auth.FromLogin(auth.Pick(c.Load)), c)
	m, err := t.gate.NewToken(ctx, credentials, early(c.Load, "token_expire"))
	switch {
	case errors.Is(err, auth.ErrNotAuthenticated):
		t.gate.logRefusal("mk_token", auth.ByEauth, c.Caller.Remote)
		return "", nil
	case err != nil:
		t.gate.log.WithError(err).Error("create a token")
		return data.NewMap(), nil
	}
	return m, nil
}

// get replies with the content of a token. The reply is empty for an invalid token, and false if
// the request has none.
func (t *tokens) get(_ context.Context, c *channel.Command) (any, error) {
	if c.Load.Raw("token") == nil {
		return false, nil
	}
	token, _ := c.Load.Text("token")
	m, err := t.gate.Token(token)
	if err != nil {
		t.gate.logRefusal("get_token", auth.ByToken, c.Caller.Remote)
		return data.NewMap(), nil
	}
	return m, nil
}
