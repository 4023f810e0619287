package thorium

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/state/change"
)

// statusName is the name of the entry with the status of minions.
const statusName = "status"

// Limits of that entry: the number of minions, and the length of the data of each. Longer data is left
// out, but not the time.
const (
	maxMinions = 100_000
	maxStatus  = 16 << 10
)

func (t *thorium) statusFunctions(*loader.Env) []loader.Func {
	return []loader.Func{loader.F("reg", t.status)}
}

// status keeps the data of the beacon status of each minion, and when it came, in the entry status. Only
// minions with an accepted key count: others could fill the entry.
func (t *thorium) status(_ context.Context, a nameArgs) (any, error) {
	found := t.reg.beacons()
	known := func(string) bool { return true }
	if len(found) > 0 && t.host.Minions != nil {
		accepted, err := t.host.Minions.Accepted()
		if err != nil {
			return change.Failed(a.Name, "list keys: "+err.Error()), nil
		}
		ids := map[string]bool{}
		for _, id := range accepted {
			ids[id] = true
		}
		known = func(id string) bool { return ids[id] }
	}
	return t.reg.keepStatus(a.Name, found, known), nil
}

// beacons returns the events of the beacon status.
func (r *register) beacons() (found []event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	glob := match.CompileGlob("salt/beacon/*/status/*")
	for _, e := range r.events {
		if glob.Match(e.tag) {
			found = append(found, e)
		}
	}
	return found
}

// keepStatus keeps the status of known minions.
func (r *register) keepStatus(name any, beacons []event, known func(id string) bool) *data.Map {
	r.mu.Lock()
	defer r.mu.Unlock()
	minions, ok := r.entry(statusName, func() *data.Map { return data.NewMap("val", data.NewMap()) }).
		Value("val").(*data.Map)
	if !ok {
		return change.Failed(name, "Value status is no dictionary")
	}
	now := float64(r.now().UnixMicro()) / 1e6
	changes := data.NewMap()
	for _, e := range beacons {
		id := e.data.Text("id")
		fields, isMap := e.data.Value("data").(*data.Map)
		if !isMap || !known(id) || !minions.Has(id) && minions.Len() >= maxMinions {
			continue
		}
		entry := data.NewMap("recv_time", now)
		if small(fields, maxStatus) {
			for k, v := range fields.All() {
				if k != "id" && k != "recv_time" {
					entry.Set(k, v)
				}
			}
		}
		minions.Set(id, entry)
		changes.Set(id, true)
	}
	return change.New(name, true, changes, "")
}
