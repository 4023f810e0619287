package manage

import (
	"context"
	"net/netip"
	"slices"

	"github.com/brineproject/brine/cache/minions"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
)

// presence returns the functions that list connected minions. Salt has seven names for each of two
// results.
func (m *module) presence() []loader.Func {
	return []loader.Func{
		loader.F("list_state", m.listState),
		loader.F("list_not_state", m.listNotState),
		loader.F("present", m.present),
		loader.F("not_present", m.notPresent),
		loader.F("joined", m.joined),
		loader.F("not_joined", m.notJoined),
		loader.F("allowed", m.allowed),
		loader.F("not_allowed", m.notAllowed),
		loader.F("alived", m.alived),
		loader.F("not_alived", m.notAlived),
		loader.F("reaped", m.reaped),
		loader.F("not_reaped", m.notReaped),
	}
}

type presentArgs struct {
	Subset any  `default:"None"`
	ShowIP bool `name:"show_ip" default:"False"`
}

// listState returns the minions that are connected to the master, without contacting them.
//
// subset
//
//	A list of the ids to consider.
//
// show_ip
//
//	True includes the address of each.
//
// CLI Example:
//
//	salt-run manage.list_state
func (m *module) listState(_ context.Context, a presentArgs) (any, error) {
	ids, err := m.connections(a.Subset)
	if err != nil {
		return nil, err
	}
	if !a.ShowIP {
		return data.Values(ids), nil
	}
	ret := &data.Map{}
	for _, id := range ids {
		ret.Set(id, m.address(id))
	}
	return ret, nil
}

// connections returns the ids of the connected minions, sorted. If they are unknown, it looks for
// minions whose addresses have a connection to the publish port of this host
// (salt/utils/minions.py, connected_ids).
func (m *module) connections(subset any) ([]string, error) {
	ids, err := m.connected()
	if err != nil {
		if ids, err = m.byAddress(); err != nil {
			return nil, err
		}
	}
	if !data.Truth(subset) {
		return ids, nil
	}
	wanted := loader.SplitList(subset)
	return slices.DeleteFunc(slices.Clone(ids),
		func(id string) bool { return !slices.Contains(wanted, id) }), nil
}

// address returns the first non-loopback address of a minion; None if unknown.
func (m *module) address(id string) any { return addressIn(m.cachedGrains(id)) }

func addressIn(grains *data.Map) any {
	for _, family := range []string{"ipv4", "ipv6"} {
		list, _ := grains.Value(family).([]any)
		for _, v := range list {
			ip, err := netip.ParseAddr(data.Str(v))
			if err == nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
				return ip.String()
			}
		}
	}
	return nil
}

// listNotState returns the minions with an accepted key that are not connected to the master,
// without contacting them.
//
// subset
//
//	A list of the ids to consider.
//
// CLI Example:
//
//	salt-run manage.list_not_state
func (m *module) listNotState(_ context.Context, a presentArgs) (any, error) {
	there, err := m.connections(nil)
	if err != nil {
		return nil, err
	}
	accepted, err := m.needs.Keys.List(pki.Accepted)
	if err != nil {
		return nil, err
	}
	ret := []any{}
	for _, id := range accepted {
		if !slices.Contains(there, id) &&
			(a.Subset == nil || slices.Contains(loader.SplitList(a.Subset), id)) {
			ret = append(ret, id)
		}
	}
	return ret, nil
}

// present returns the connected minions, like manage.list_state.
//
// CLI Example:
//
//	salt-run manage.present
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	return m.listState(ctx, a)
}

// notPresent returns the minions that are not connected, like manage.list_not_state.
//
// CLI Example:
//
//	salt-run manage.not_present
func (m *module) notPresent(ctx context.Context, a presentArgs) (any, error) {
	return m.listNotState(ctx, a)
}

// joined returns the connected minions, like manage.list_state.
//
// CLI Example:
//
//	salt-run manage.joined
func (m *module) joined(ctx context.Context, a presentArgs) (any, error) {
	return m.listState(ctx, a)
}

// notJoined returns the minions that are not connected, like manage.list_not_state.
//
// CLI Example:
//
//	salt-run manage.not_joined
func (m *module) notJoined(ctx context.Context, a presentArgs) (any, error) {
	return m.listNotState(ctx, a)
}

// allowed returns the connected minions, like manage.list_state.
//
// CLI Example:
//
//	salt-run manage.allowed
func (m *module) allowed(ctx context.Context, a presentArgs) (any, error) {
	return m.listState(ctx, a)
}

// notAllowed returns the minions that are not connected, like manage.list_not_state.
//
// CLI Example:
//
//	salt-run manage.not_allowed
func (m *module) notAllowed(ctx context.Context, a presentArgs) (any, error) {
	return m.listNotState(ctx, a)
}

// alived returns the connected minions, like manage.list_state.
//
// CLI Example:
//
//	salt-run manage.alived
func (m *module) alived(ctx context.Context, a presentArgs) (any, error) {
	return m.listState(ctx, a)
}

// notAlived returns the minions that are not connected, like manage.list_not_state.
//
// CLI Example:
//
//	salt-run manage.not_alived
func (m *module) notAlived(ctx context.Context, a presentArgs) (any, error) {
	return m.listNotState(ctx, a)
}

// reaped returns the connected minions, like manage.list_state.
//
// CLI Example:
//
//	salt-run manage.reaped
func (m *module) reaped(ctx context.Context, a presentArgs) (any, error) {
	return m.listState(ctx, a)
}

// notReaped returns the minions that are not connected, like manage.list_not_state.
//
// CLI Example:
//
//	salt-run manage.not_reaped
func (m *module) notReaped(ctx context.Context, a presentArgs) (any, error) {
	return m.listNotState(ctx, a)
}

// byAddress returns the minions whose grains contain an address with a connection to the publish
// port.
func (m *module) byAddress() ([]string, error) {
	if !data.Truth(m.env.Option("minion_data_cache")) {
		return nil, nil
	}
	port, err := loader.Int(m.env.Option("publish_port"))
	if err != nil {
		return nil, loader.Execution("publish_port: %w", err)
	}
	peers, err := peersOf(m.env.Root, int(port))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, id := range (minions.Cache{Bank: m.needs.Bank}).IDs() {
		if holds(m.cachedGrains(id), peers) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// holds reports whether one of the addresses in grains is among peers.
func holds(grains *data.Map, peers map[netip.Addr]bool) bool {
	for _, family := range []string{"ipv4", "ipv6"} {
		list, _ := grains.Value(family).([]any)
		for _, v := range list {
			if ip, err := netip.ParseAddr(data.Str(v)); err == nil && peers[ip] {
				return true
			}
		}
	}
	return false
}
