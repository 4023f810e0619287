// Package minions reads a master's cached data about its minions from a bank of its cache: the
// grains and pillar that each last sent, under minions/ID and data (salt/utils/master.py,
// salt/utils/minions.py).
package minions

import (
	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// Names in the cache.
const (
	DataKey = "data" // grains and pillar
	MineKey = "mine" // data that the minion publishes for others
)

// BankOf returns the bank of a minion.
func BankOf(id string) string { return "minions/" + id }

// A Cache reads a master's bank. It is safe for concurrent use.
type Cache struct{ Bank cache.Bank }

var _ match.Cache = Cache{}

// Minion returns the grains and pillar that minion id last sent.
func (c Cache) Minion(id string) (grains, pillar *data.Map, ok bool) {
	m, ok := c.Map(id, DataKey)
	grains, _ = m.Value("grains").(*data.Map)
	pillar, _ = m.Value("pillar").(*data.Map)
	return grains, pillar, ok
}

// Map returns the map cached for a minion under a key, and whether there is one.
func (c Cache) Map(id, key string) (*data.Map, bool) {
	if pki.ValidID(id) != nil {
		return nil, false
	}
	raw, err := c.Bank.Fetch(BankOf(id), key)
	if err != nil {
		return nil, false
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, ok := v.(*data.Map)
	return m, err == nil && ok
}

// IDs returns the minions with cached data, sorted.
func (c Cache) IDs() []string {
	ids, err := c.Bank.List("minions")
	if err != nil {
		return nil
	}
	return ids
}
