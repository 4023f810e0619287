package master

import (
	"context"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
)

// A command handles one kind of request.
type command struct {
	do     func(context.Context, *channel.Command) (any, error)
	proof  bool // only for minions that prove their id in the request
	effect bool // changes something, so a repeated request is not executed again
}

// requests are the commands of a master, by name.
type requests struct {
	clear     map[string]command
	encrypted map[string]command
}

var _ channel.Handler = (*requests)(nil)

// Clear executes an unencrypted command.
func (r *requests) Clear(ctx context.Context, c *channel.Command) (any, error) {
	return run(ctx, r.clear, c)
}

// Encrypted executes a command of a minion.
func (r *requests) Encrypted(ctx context.Context, c *channel.Command) (any, error) {
	return run(ctx, r.encrypted, c)
}

func run(ctx context.Context, table map[string]command, c *channel.Command) (any, error) {
	cmd, ok := table[c.Name]
	if !ok {
		return nil, channel.ErrUnknownCommand
	}
	// the channel has checked this too
	if cmd.proof && (!c.Caller.Proved || pki.ValidID(c.Caller.ID) != nil) {
		return data.NewMap(), nil
	}
	return cmd.do(ctx, c)
}

// NeedsProof reports whether an encrypted command is only for minions that prove their id.
func (r *requests) NeedsProof(name string) bool { return r.encrypted[name].proof }

// Effect reports whether an encrypted command changes something.
func (r *requests) Effect(name string) bool { return r.encrypted[name].effect }
