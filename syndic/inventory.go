package syndic

import (
	"maps"
	"slices"

	"github.com/brineproject/brine/data"
)

// An inventory lists the minions that an upper master can reach through the syndic. Salt's masters
// ignore it.
type inventory struct {
	Minions []string            // of the lower master, sorted
	Syndics map[string][]string // sorted minions behind the syndics of the lower master, by syndic
	version int                 // grows with each change
}

// has reports whether the upper masters can reach a minion through the syndic.
func (i *inventory) has(id string) bool {
	if _, ok := slices.BinarySearch(i.Minions, id); ok {
		return true
	}
	for _, minions := range i.Syndics {
		if _, ok := slices.BinarySearch(minions, id); ok {
			return true
		}
	}
	return false
}

// data returns the inventory as the data of an event of a syndic.
func (i inventory) data(id string) *data.Map {
	syndics := data.NewMap()
	for _, name := range slices.Sorted(maps.Keys(i.Syndics)) {
		syndics.Set(name, data.Values(i.Syndics[name]))
	}
	return data.NewMap("id", id, "minions", data.Values(i.Minions), "syndics", syndics)
}

func (i inventory) equal(other inventory) bool {
	if !slices.Equal(i.Minions, other.Minions) || len(i.Syndics) != len(other.Syndics) {
		return false
	}
	for id, minions := range i.Syndics {
		if theirs, ok := other.Syndics[id]; !ok || !slices.Equal(minions, theirs) {
			return false
		}
	}
	return true
}
