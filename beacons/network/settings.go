package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Settings returns the beacon network_settings.
func Settings() loader.Plugin { return SettingsOf(readLinks) }

// SettingsOf returns the beacon network_settings for interfaces that read returns: their settings by
// name. It is for tests.
func SettingsOf(read func() (map[string]*data.Map, error)) loader.Plugin {
	return beacons.Plugin("network_settings", "", func(env *loader.Env) (beacons.Beacon, error) {
		if _, err := read(); err != nil {
			return nil, err
		}
		return settings{env, read}, nil
	})
}

type settings struct {
	env  *loader.Env
	read func() (map[string]*data.Map, error)
}

// attributes are the settings that a configuration may name. Those that describe pyroute2, with which
// Salt reads them, never change here: ipdb_scope, ipdb_priority, neighbours and ports.
func attributes() []any {
	return []any{"family", "txqlen", "ipdb_scope", "index", "operstate", "group", "carrier_changes",
		"ipaddr", "neighbours", "ifname", "promiscuity", "linkmode", "broadcast", "address",
		"num_tx_queues", "ipdb_priority", "kind", "qdisc", "mtu", "num_rx_queues", "carrier", "flags",
		"ifi_type", "ports"}
}

func (settings) Validate(config any) (bool, string) { return beacons.Verdict(settingsFault(config)) }

func settingsFault(config any) string {
	if text := beacons.NotList("network_settings", config); text != "" {
		return text
	}
	v := beacons.Merge(config).Value("interfaces")
	interfaces, ok := v.(*data.Map)
	if !ok && v != nil {
		return "interfaces section for network_settings beacon must be a dictionary."
	}
	for name, v := range interfaces.All() {
		options, ok := v.(*data.Map)
		if !ok {
			return "Interface attributes for network_settings beacon must be a dictionary."
		}
		for name := range options.All() {
			if !slices.Contains(attributes(), name) {
				return "Invalid attributes in beacon configuration."
			}
		}
		if _, err := beacons.CompileSearch(data.Str(name)); err != nil {
			return fmt.Sprintf("Interface %s for network_settings beacon is no valid pattern: %v", data.Str(name), err)
		}
	}
	return ""
}

// seen holds the settings of the last turn by interface.
type seen struct{ last map[string]*data.Map }

func (s settings) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := beacons.State[seen](ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.read()
	if err != nil {
		return nil, err
	}
	before := kept.last
	if before == nil {
		kept.last = now
		return nil, nil
	}
	set := beacons.Merge(config)
	wanted, _ := set.Value("interfaces").(*data.Map)
	var events []*data.Map
	all := data.NewMap()
	for name, options := range expanded(wanted, now).All() {
		iface := data.Str(name)
		was, there := before[iface]
		if !there {
			continue // it is new
		}
		if change := changed(was, now[iface], options); change.Len() > 0 {
			all.Set(name, change)
			events = append(events, data.NewMap("tag", iface, "interface", iface, "change", change))
		}
	}
	if data.Truth(set.Value("coalesce")) && all.Len() > 0 {
		if err := s.refresh(ctx); err != nil {
			return nil, err // the next turn finds the changes again
		}
		events = []*data.Map{data.NewMap("tag", "result", "changes", all)}
	}
	kept.last = now
	return events, nil
}

// refresh collects the grains, as Salt does for changes that are reported together.
func (s settings) refresh(ctx context.Context) error {
	if s.env.Host.RefreshGrains == nil {
		return nil
	}
	return s.env.Host.RefreshGrains(ctx)
}

// expanded returns the configured interfaces that exist. A name without an interface is a regular
// expression that names match anywhere.
func expanded(wanted *data.Map, now map[string]*data.Map) *data.Map {
	all := data.NewMap()
	var names []string
	for name := range now {
		names = append(names, name)
	}
	slices.Sort(names)
	for key, options := range wanted.All() {
		pattern := data.Str(key)
		if now[pattern] != nil {
			all.Set(pattern, options)
			continue
		}
		re, err := beacons.CompileSearch(pattern)
		if err != nil {
			continue
		}
		for _, name := range names {
			if re.Match(name) {
				all.Set(name, options)
			}
		}
	}
	return all
}

// changed returns the watched settings that have changed, with their new values. A setting with
// onvalue is watched for that value only.
func changed(was, now *data.Map, v any) *data.Map {
	change := data.NewMap()
	options, _ := v.(*data.Map)
	for name, one := range options.All() {
		value, ok := now.Get(name)
		if !ok || data.Equal(was.Value(name), value) {
			continue
		}
		limits, _ := one.(*data.Map)
		if only := limits.Value("onvalue"); !data.Truth(only) || data.Equal(only, value) {
			change.Set(name, value)
		}
	}
	return change
}
