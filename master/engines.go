package master

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// newEngines makes the configured engines. An unknown one is logged, and the others run.
func newEngines(p *parts) ([]daemon.Part, error) {
	list, err := engines.Parts(p.cfg.Engines, p.own.engines(p.cfg.Engines, p.o.Engines),
		engines.Host{ID: p.cfg.ID, Bus: p.bus, Log: p.log, Opts: p.settings.saltOptions(),
			Minions: engineMinions{p}, Order: p.o.Order, Leads: p.member.leading().leads,
			Functions: p.control.modules, Render: p.functions.render})
	if errors.Is(err, engines.ErrUnknown) {
		p.log.Info(err)
		err = nil
	}
	return list, err
}

// engineMinions are the minions of a master for its engines.
type engineMinions struct{ p *parts }

var _ engines.Minions = engineMinions{}

func (m engineMinions) Accepted() ([]string, error) { return m.p.keys.List(pki.Accepted) }

func (m engineMinions) Connected() []string { return m.p.presence.Connected() }

// DeleteKey deletes a key as a job of the wheel function key.delete_dict, which takes ids for what
// they are, unlike key.delete, which takes them for patterns.
func (m engineMinions) DeleteKey(ctx context.Context, id string) error {
	done := m.p.control.callNested(ctx, string(runners.Wheel), loader.MasterCall{Fun: "key.delete_dict",
		Args: []any{data.NewMap("minions", []any{id})}, User: m.p.cfg.User})
	if done.Value("success") != true {
		return fmt.Errorf("key.delete_dict: %s", data.Str(done.Value("return")))
	}
	return nil
}
