package master

import (
	"context"
	"errors"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
)

// tokens does the commands about tokens (salt/master.py, ClearFuncs.mk_token and get_token).
type tokens struct{ gate *gatekeeper }

// tokenCommands are the clear commands about tokens.
func tokenCommands(p *parts) map[string]command {
	t := &tokens{p.gate}
	return map[string]command{"mk_token": {do: t.make}, "get_token": {do: t.get}}
}

// make gives a token for a login, and the empty text for a wrong one.
func (t *tokens) make(ctx context.Context, c *channel.Command) (any, error) {
	credentials := claimed(auth.FromLogin(auth.Pick(c.Load)), c)
	m, err := t.gate.NewToken(ctx, credentials, early(c.Load, "token_expire"))
	switch {
	case errors.Is(err, auth.ErrNotAuthenticated):
		t.gate.logRefusal("mk_token", auth.ByEauth, c.Caller.Remote)
		return "", nil
	case err != nil:
		t.gate.log.WithError(err).Error("mk_token: the token cannot be made")
		return data.NewMap(), nil
	}
	return m, nil
}

// get tells what is kept of a token: nothing of one that does not hold, and false to who names none.
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
