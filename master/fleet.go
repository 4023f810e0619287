package master

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// fleet resolves targets from the accepted keys and the stored data of minions.
type fleet struct {
	keys     pki.Store
	data     *minionData
	settings *settings
}

// resolve returns the accepted minions that a target may name, and those it names that have no
// accepted key.
func (f *fleet) resolve(tgt any, kind, delim string) (ids, missing []string, err error) {
	return f.resolveAs(tgt, kind, delim, true)
}

// resolveAs is resolve with a choice: only if greedy is set, minions without stored data count as
// named.
func (f *fleet) resolveAs(
	tgt any, kind, delim string, greedy bool,
) (ids, missing []string, err error) {
	m, err := f.known()
	if err != nil {
		return nil, nil, err
	}
	m.Greedy = greedy
	return m.Resolve(tgt, kind, delim)
}

// known returns a match.Fleet with the data that the master has of its minions.
func (f *fleet) known() (*match.Fleet, error) {
	accepted, err := f.keys.List(pki.Accepted)
	if err != nil {
		return nil, fmt.Errorf("list accepted keys: %w", err)
	}
	cfg := f.settings.config()
	return &match.Fleet{
		Accepted:   accepted,
		Cache:      f.data,
		DataCache:  cfg.MinionDataCache,
		Nodegroups: cfg.Nodegroups,
	}, nil
}

// minionData stores the last grains and pillar of each minion (salt/master.py, _pillar;
// salt/utils/minions.py).
type minionData struct {
	bank cache.Bank
}

var _ match.Cache = (*minionData)(nil)

const dataKey = "data"

// Minion returns the stored grains and pillar of a minion.
func (d *minionData) Minion(id string) (grains, pillar *data.Map, ok bool) {
	raw, err := d.bank.Fetch(mine.Bank(id), dataKey)
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

// IDs returns the minions with stored data.
func (d *minionData) IDs() []string {
	ids, err := d.bank.List("minions")
	if err != nil {
		return nil
	}
	return ids
}

// save stores the grains and pillar of a minion. The error wraps errTooMuchData if the pillar
// exceeds minionDataLimits.
func (d *minionData) save(id string, grains, pillar *data.Map) error {
	encoded, err := payload.MarshalBin(pillar)
	if err != nil {
		return fmt.Errorf("store data of minion %s: %w", id, err)
	}
	if payload.Check(encoded, minionDataLimits()) != nil {
		return fmt.Errorf("store pillar of minion %s, %d bytes: %w", id, len(encoded),
			errTooMuchData)
	}
	raw, err := payload.MarshalBin(data.NewMap("grains", grains, "pillar", data.Raw(encoded)))
	if err != nil {
		return fmt.Errorf("store data of minion %s: %w", id, err)
	}
	return d.bank.Store(mine.Bank(id), dataKey, raw)
}

// prune drops the data of minions for which keep returns false.
func (d *minionData) prune(keep func(id string) bool) error {
	ids, err := d.bank.List("minions")
	if err != nil {
		return fmt.Errorf("list data of minions: %w", err)
	}
	var errs []error
	for _, id := range ids {
		if !keep(id) {
			errs = append(errs, d.bank.Flush(mine.Bank(id), ""))
		}
	}
	return errors.Join(errs...)
}
