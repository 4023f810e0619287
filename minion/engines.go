package minion

import (
	"context"
	"errors"
	"maps"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/loader"
)

// openEngines makes the configured engines. An unknown one is logged, and the others run.
func (m *Minion) openEngines() error {
	makers := maps.Clone(m.opts.Engines)
	if makers == nil {
		makers = map[string]engines.Make{}
	}
	if own := m.env.Registries["engines"]; own != nil {
		for _, name := range engines.Modules(m.cfg.Engines) {
			if makers[name] == nil && own.Has(name+".start") {
				makers[name] = engines.Own(name, func() *loader.Registry { return own })
			}
		}
	}
	parts, err := engines.Parts(m.cfg.Engines, makers, engines.Host{ID: m.cfg.ID, Bus: m.bus, Log: m.log,
		Opts: m.settings.saltOptions(), Send: m.sendEvent})
	if errors.Is(err, engines.ErrUnknown) {
		m.log.Info(err)
		err = nil
	}
	m.engines = parts
	return err
}

// sendEvent fires an event of an engine on the masters, or on the minion's own bus if it has none
// (salt/modules/event.py, send).
func (m *Minion) sendEvent(ctx context.Context, tag string, body *data.Map) error {
	if len(m.links) == 0 {
		return m.bus.Fire(tag, body)
	}
	return m.FireMaster(ctx, tag, body)
}
