// Package network has Salt's beacons network_info and network_settings: they report traffic counters
// of network interfaces beyond a limit, and changes of their settings (salt/beacons/network_info.py,
// network_settings.py).
package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Info returns the beacon network_info.
func Info() loader.Plugin {
	return beacons.Plugin("network_info", "", func(env *loader.Env) (beacons.Beacon, error) {
		return info{env}, beacons.Need(env, "ps.network_io_counters")
	})
}

type info struct{ env *loader.Env }

// counters are the names of the counters.
func counters() []string {
	return []string{"bytes_sent", "bytes_recv", "packets_sent", "packets_recv", "errin", "errout", "dropin",
		"dropout"}
}

func (info) Validate(config any) (bool, string) { return beacons.Verdict(infoFault(config)) }

func infoFault(config any) string {
	if text := beacons.NotList("network_info", config); text != "" {
		return text
	}
	given := beacons.Merge(config).Value("interfaces")
	interfaces, ok := given.(*data.Map)
	if !ok && given != nil {
		return "Configuration for network_info beacon interfaces must be a dictionary."
	}
	for _, v := range interfaces.All() {
		options, ok := v.(*data.Map)
		if !ok {
			return "Configuration for network_info beacon must be a list of dictionaries."
		}
		if !slices.ContainsFunc(append(counters(), "type"), func(name string) bool { return options.Has(name) }) {
			return "Invalid configuration item in Beacon configuration."
		}
		for _, name := range counters() {
			if limit, ok := options.Get(name); ok {
				if _, err := beacons.Number(limit); err != nil {
					return fmt.Sprintf("Configuration for network_info beacon has an invalid %s: %v", name, err)
				}
			}
		}
	}
	return ""
}

func (i info) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	interfaces, _ := beacons.Merge(config).Value("interfaces").(*data.Map)
	var events []*data.Map
	for name, v := range interfaces.All() {
		found, err := i.env.Call(ctx, "ps.network_io_counters", []any{name}, nil)
		if err != nil {
			return nil, err
		}
		counts, ok := found.(*data.Map)
		if !ok {
			continue // there is no such interface
		}
		options, _ := v.(*data.Map)
		beyond, err := isBeyond(counts, options)
		if err != nil {
			return nil, err
		}
		if beyond {
			events = append(events, data.NewMap("interface", name, "network_info", counts))
		}
	}
	return events, nil
}

// isBeyond reports whether a counter equals its limit or, with the type greater, is greater.
func isBeyond(counts, options *data.Map) (bool, error) {
	for _, name := range counters() {
		limit, ok := options.Get(name)
		if !ok {
			continue
		}
		most, err := beacons.Number(limit)
		if err != nil {
			return false, err
		}
		n, err := beacons.Number(counts.Value(name))
		if err != nil {
			return false, err
		}
		if greater := options.Value("type") == "greater"; greater && n > most || !greater && n == most {
			return true, nil
		}
	}
	return false, nil
}
