package master

import (
	"context"
	"errors"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/tops"
	"github.com/brineproject/brine/transport"
)

// topsCommands are the commands by which minions ask what the systems of master_tops say of them (salt/master.py, _master_tops). The
// one that asks is the one that has proved itself, whatever its options say.
func topsCommands(p *parts) map[string]command {
	ask := func(ctx context.Context, c *channel.Command) (any, error) {
		opts, err := told(c, "opts", optionLimits())
		if err != nil {
			if more, ok := p.quiet.Allow("told " + c.Caller.ID); ok {
				p.o.Log.WithError(err).Warnf("request of minion %s to master_tops is refused (%d more since the last warning)", c.Caller.ID, more)
			}
			return data.NewMap(), nil
		}
		grains, _ := opts.Value("grains").(*data.Map)
		found := data.NewMap()
		transport.Aside(ctx, func() { found = p.tops.Load().Top(ctx, tops.Minion{ID: c.Caller.ID, Opts: opts, Grains: grains}) })
		return found, nil
	}
	return map[string]command{"_master_tops": {do: ask, proof: true}, "_ext_nodes": {do: ask, proof: true}} // the second is that of old minions
}

// openTops takes the systems of master_tops. One that is not known is told of.
func (p *parts) openTops() error {
	t, err := tops.New(tops.Options{Config: p.settings.all().Value("master_tops"), Sources: p.o.Tops, Log: p.o.Log})
	if errors.Is(err, tops.ErrUnknown) {
		p.o.Log.WithError(err).Info("the others of master_tops are asked")
		err = nil
	}
	if err == nil {
		p.tops.Store(t)
	}
	return err
}
