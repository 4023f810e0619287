package master

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// fleet computes which minions a target names, from the keys and from what minions last told of themselves.
type fleet struct {
	keys     pki.Store
	data     *minionData
	settings *settings
}

// resolve returns the accepted minions that may be named by a target, and those named that have no accepted key.
func (f *fleet) resolve(tgt any, kind, delim string) (ids, missing []string, err error) {
	return f.resolveAs(tgt, kind, delim, true)
}

// resolveAs is resolve, in which minions of which nothing is known count as named only if greedy says so.
func (f *fleet) resolveAs(tgt any, kind, delim string, greedy bool) (ids, missing []string, err error) {
	accepted, err := f.keys.List(pki.Accepted)
	if err != nil {
		return nil, nil, fmt.Errorf("list accepted keys: %w", err)
	}
	cfg := f.settings.now()
	m := match.Fleet{Accepted: accepted, Cache: f.data, DataCache: cfg.MinionDataCache, Greedy: greedy, Nodegroups: cfg.Nodegroups}
	return m.Resolve(tgt, kind, delim)
}

// minionData keeps the last grains and pillar of each minion (salt/master.py, _pillar; salt/utils/minions.py).
type minionData struct {
	bank cache.Bank
}

var _ match.Cache = (*minionData)(nil)

const dataKey = "data"

func dataBank(id string) string { return "minions/" + id }

// Minion returns what minion id last told.
func (d *minionData) Minion(id string) (grains, pillar *data.Map, ok bool) {
	raw, err := d.bank.Fetch(dataBank(id), dataKey)
	if err != nil {
		return nil, nil, false
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, isMap := v.(*data.Map)
	if err != nil || !isMap {
		return nil, nil, false
	}
	grains, _ = m.Value("grains").(*data.Map)
	pillar, _ = m.Value("pillar").(*data.Map)
	return grains, pillar, true
}

// IDs returns the minions of which something is kept.
func (d *minionData) IDs() []string {
	ids, err := d.bank.List("minions")
	if err != nil {
		return nil
	}
	return ids
}

// save keeps what a minion told, and its pillar. A pillar that exceeds toldLimits is an error that wraps errToldTooMuch.
func (d *minionData) save(id string, grains, pillar *data.Map) error {
	encoded, err := payload.MarshalBin(pillar)
	if err != nil {
		return fmt.Errorf("keep data of minion %s: %w", id, err)
	}
	if payload.Check(encoded, toldLimits()) != nil {
		return fmt.Errorf("keep pillar of minion %s, %d bytes: %w", id, len(encoded), errToldTooMuch)
	}
	raw, err := payload.MarshalBin(data.NewMap("grains", grains, "pillar", data.Raw(encoded)))
	if err != nil {
		return fmt.Errorf("keep data of minion %s: %w", id, err)
	}
	return d.bank.Store(dataBank(id), dataKey, raw)
}

// prune drops everything kept of the minions that keep does not name.
func (d *minionData) prune(keep func(id string) bool) error {
	ids, err := d.bank.List("minions")
	if err != nil {
		return fmt.Errorf("list data of minions: %w", err)
	}
	var errs []error
	for _, id := range ids {
		if !keep(id) {
			errs = append(errs, d.bank.Flush(dataBank(id), ""))
		}
	}
	return errors.Join(errs...)
}
