package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/transport"
)

// A Refusal is the master's error for an order.
type Refusal struct {
	Name    string // Salt's name of the error, as EauthAuthenticationError
	Message string
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// Control has the master call one of its own functions, and waits for the end. kind is runner or wheel. The result is the job as
// the master tells of it: fun, jid, user, return, success. It ends with ctx. The error may be a *Refusal.
func (l *Local) Control(ctx context.Context, kind, fun string, args []any, kwargs *data.Map) (*data.Map, error) {
	key, user, err := l.credentials()
	if err != nil {
		return nil, err
	}
	if args == nil {
		args = []any{}
	}
	load := data.NewMap("cmd", kind, "fun", fun)
	given := data.NewMap("arg", args, "kwarg", kwargs.Clone())
	if kind == "runner" {
		given = data.NewMap("kwarg", given)
	}
	load.Update(given)
	if load.Update(l.login); l.login.Len() == 0 {
		load.Set("key", key)
		load.Set("user", user)
	}
	if kind != "runner" { // its result is the reply
		return control(ctx, l.opts.Out, load)
	}
	bus, err := eventbus.Dial(ctx, l.opts.Sockets, eventbus.ClientOptions{Subscribe: eventbus.SubscribeOptions{Prefixes: []string{eventbus.Tagify("run") + "/"}}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoMaster, err)
	}
	defer bus.Close()
	begun, err := control(ctx, l.opts.Out, load)
	if err != nil {
		return nil, err
	}
	return await(ctx, bus, begun.Text("tag")+"/ret")
}

// Wheel has the master behind out call a wheel function for a user who proves himself by a login of external_auth or a token, and
// returns the job. The error may be a *Refusal.
func Wheel(ctx context.Context, out transport.Requester, login *data.Map, fun string, args []any, kwargs *data.Map) (*data.Map, error) {
	if args == nil {
		args = []any{}
	}
	load := data.NewMap("cmd", "wheel", "fun", fun, "arg", args, "kwarg", kwargs.Clone())
	load.Update(login)
	return control(ctx, out, load)
}

// control sends an order for the master's own functions and returns the reply.
func control(ctx context.Context, out transport.Requester, load *data.Map) (*data.Map, error) {
	reply, err := channel.Clear(ctx, out, load)
	if err != nil {
		return nil, err
	}
	m, _ := reply.(*data.Map)
	if refusal, ok := m.Value("error").(*data.Map); ok {
		return nil, &Refusal{refusal.Text("name"), refusal.Text("message")}
	}
	if done, ok := m.Value("data").(*data.Map); ok {
		return done, nil
	}
	if m.Text("tag") == "" {
		return nil, fmt.Errorf("%s %s: the master answers %s", load.Text("cmd"), load.Text("fun"), data.Repr(reply))
	}
	return m, nil
}

// await returns the body of the first event with that tag.
func await(ctx context.Context, bus *eventbus.Client, tag string) (*data.Map, error) {
	for {
		e, err := bus.Next(ctx)
		if err != nil {
			return nil, errors.Join(ErrNoMaster, err)
		}
		if e.Tag == tag {
			return e.Map()
		}
	}
}
