package master

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/tops"
	"github.com/brineproject/brine/transport"
)

// masterTops queries the systems of master_tops.
type masterTops struct {
	base
	sources []tops.Source // that master_tops may name
	own     *ownCode
	current atomic.Pointer[tops.Tops]
}

// topsCommands returns the commands by which minions query master_tops (salt/master.py,
// _master_tops). The query is for the minion that has proved itself, whatever id its options
// contain.
func topsCommands(t *masterTops) map[string]command {
	ask := func(ctx context.Context, c *channel.Command) (any, error) {
		opts, err := mapField(c, "opts", optionLimits())
		if err != nil {
			t.quiet.Warnf(t.log.WithError(err), "data of "+c.Caller.ID,
				"Request of minion %s to master_tops refused", c.Caller.ID)
			return data.NewMap(), nil
		}
		grains, _ := opts.Value("grains").(*data.Map)
		found := data.NewMap()
		transport.Aside(ctx,
			func() {
				ctx, end := t.own.begin(ctx)
				defer end()
				found = t.current.Load().Top(ctx,
					tops.Minion{ID: c.Caller.ID, Opts: opts, Grains: grains})
			})
		return found, nil
	}
	return map[string]command{
		"_master_tops": {do: ask, proof: true},
		"_ext_nodes":   {do: ask, proof: true},
	} // _ext_nodes is for old minions
}

// renew opens the systems of the current option. An unknown one is logged and left out.
func (t *masterTops) renew() error {
	opened, err := tops.New(tops.Options{Config: t.settings.saltOptions().Value("master_tops"),
		Master:  t.settings.saltOptions(),
		Sources: t.sources, Own: t.own.tops(t.sources), Log: t.log})
	if errors.Is(err, tops.ErrUnknown) {
		t.log.WithError(err).Info("only the other systems of master_tops are used")
		err = nil
	}
	if err == nil {
		t.current.Store(opened)
	}
	return err
}
