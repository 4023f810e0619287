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

// A Refusal is the master's error reply to an order.
type Refusal struct {
	Name    string // Salt's name of the error, such as EauthAuthenticationError
	Message string
}

// Error returns the message of the master.
func (r *Refusal) Error() string { return r.Message }

// Control calls a runner or wheel function on the master and waits for its end; kind is "runner" or
// "wheel". The result is the job as the master reports it: fun, jid, user, return, success. The
// error may be a *Refusal, or that of ctx.
func (l *Local) Control(
	ctx context.Context, kind, fun string, args []any, kwargs *data.Map,
) (*data.Map, error) {
	load, err := l.controlLoad(kind, fun, args, kwargs)
	if err != nil {
		return nil, err
	}
	done, _, err := l.finish(ctx, kind, load)
	return done, err
}

// finish sends an order and waits for its end. It returns the job and the tag of its last event.
func (l *Local) finish(ctx context.Context, kind string, load *data.Map) (done *data.Map, tag string, err error) {
	if kind != "runner" { // a wheel function's result is the reply
		done, err = control(ctx, l.opts.Out, load)
		return done, done.Text("tag"), err
	}
	bus, err := l.subscribe(ctx, prefixes("run"))
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrNoMaster, err)
	}
	defer bus.Close()
	load.Set("secret_reply", true)
	begun, err := control(ctx, l.opts.Out, load)
	if err != nil {
		return nil, "", err
	}
	if begun.Has("return") { // its result is secret, so that it is not on the bus
		return begun, eventbus.Tagify("run", begun.Text("jid"), "ret"), nil
	}
	tag = begun.Text("tag") + "/ret"
	done, err = await(ctx, bus, tag)
	return done, tag, err
}

// Begin is Control without waiting for the end of a runner. The result is the id and the tag of the
// call: jid and tag.
func (l *Local) Begin(
	ctx context.Context, kind, fun string, args []any, kwargs *data.Map,
) (*data.Map, error) {
	load, err := l.controlLoad(kind, fun, args, kwargs)
	if err != nil {
		return nil, err
	}
	return l.begin(ctx, kind, load)
}

// begin sends an order, and returns its id and tag.
func (l *Local) begin(ctx context.Context, kind string, load *data.Map) (*data.Map, error) {
	begun, err := control(ctx, l.opts.Out, load)
	if err != nil {
		return nil, err
	}
	jid := begun.Text("jid")
	return data.NewMap("tag", eventbus.Tagify(tagOf(kind), jid), "jid", jid), nil
}

// tagOf returns the word for calls of a kind in the tags of their events.
func tagOf(kind string) string {
	if kind == "runner" {
		return "run"
	}
	return kind
}

// controlLoad returns an order for a runner or wheel function with the credentials of the user.
func (l *Local) controlLoad(kind, fun string, args []any, kwargs *data.Map) (*data.Map, error) {
	if args == nil {
		args = []any{}
	}
	given := data.NewMap("arg", args, "kwarg", kwargs.Clone())
	if kind == "runner" {
		given = data.NewMap("kwarg", given)
	}
	return l.withLogin(kind, fun, given)
}

// withLogin returns an order with these arguments and the credentials of the user.
func (l *Local) withLogin(kind, fun string, given *data.Map) (*data.Map, error) {
	key, user, err := l.credentials()
	if err != nil {
		return nil, err
	}
	load := data.NewMap("cmd", kind, "fun", fun)
	load.Update(given)
	if load.Update(l.login); l.login.Len() == 0 {
		load.Set("key", key)
		load.Set("user", user)
	}
	return load, nil
}

// Wheel calls a wheel function on the master behind out, and returns the job. The user logs in with
// login: a login of external_auth or a token. The error may be a *Refusal.
func Wheel(
	ctx context.Context, out transport.Requester, login *data.Map, fun string, args []any,
	kwargs *data.Map,
) (*data.Map, error) {
	if args == nil {
		args = []any{}
	}
	load := data.NewMap("cmd", "wheel", "fun", fun, "arg", args, "kwarg", kwargs.Clone())
	load.Update(login)
	return control(ctx, out, load)
}

// control sends an order for a runner or wheel function and returns the reply.
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
		return nil, fmt.Errorf("%s %s: unexpected reply of the master: %s", load.Text("cmd"),
			load.Text("fun"), data.Repr(reply))
	}
	return m, nil
}

// await returns the body of the next event with that tag.
func await(ctx context.Context, bus source, tag string) (*data.Map, error) {
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

// ControlLow is Control for arguments in the form in which the clients of Salt's HTTP interface give
// them: low has arguments by name, which may be arg and kwarg (salt/netapi/__init__.py, runner and
// wheel). nocache asks Brine's master not to store the result of a runner that only reads; Salt's stores
// it. The result has the fields tag and data, as the master's events have.
func (l *Local) ControlLow(ctx context.Context, kind, fun string, low *data.Map) (*data.Map, error) {
	load, err := l.lowLoad(kind, fun, low)
	if err != nil {
		return nil, err
	}
	done, tag, err := l.finish(ctx, kind, load)
	return data.NewMap("tag", tag, "data", done), err
}

// BeginLow is ControlLow without waiting for the end of a runner. The result is the id and the tag
// of the call: jid and tag.
func (l *Local) BeginLow(ctx context.Context, kind, fun string, low *data.Map) (*data.Map, error) {
	load, err := l.lowLoad(kind, fun, low)
	if err != nil {
		return nil, err
	}
	return l.begin(ctx, kind, load)
}

// lowLoad returns an order with the login of l. The arguments of a runner are in the field kwarg,
// those of a wheel function beside the login.
func (l *Local) lowLoad(kind, fun string, low *data.Map) (*data.Map, error) {
	words := low.Clone()
	words.Delete("nocache")
	given := data.NewMap("kwarg", words)
	if data.Truth(low.Value("nocache")) {
		given.Set("nocache", true)
	}
	if kind != "runner" {
		given = low.Clone()
		for _, taken := range []string{"cmd", "fun", "key", "user", "token", "eauth", "username", "password"} {
			given.Delete(taken)
		}
	}
	return l.withLogin(kind, fun, given)
}
