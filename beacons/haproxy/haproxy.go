// Package haproxy is Salt's beacon haproxy: it reports servers of HAProxy with more sessions than a
// threshold (salt/beacons/haproxy.py). It needs a module haproxy, which Brine has not; users' own or
// that of an installed Salt will do.
package haproxy

import (
	"context"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the beacon haproxy.
func Plugin() loader.Plugin {
	return beacons.Plugin("haproxy", "", func(env *loader.Env) (beacons.Beacon, error) {
		return beacon{env}, beacons.Need(env, "haproxy.get_sessions")
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) { return beacons.Verdict(fault(config)) }

func fault(config any) string {
	if text := beacons.NotList("haproxy", config); text != "" {
		return text
	}
	set := beacons.Merge(config)
	if !set.Has("backends") {
		return "Configuration for haproxy beacon requires backends."
	}
	backends, ok := set.Value("backends").(*data.Map)
	if !ok {
		return "Backends for haproxy beacon must be a dictionary."
	}
	for _, v := range backends.All() {
		backend, _ := v.(*data.Map)
		if !backend.Has("servers") {
			return "Backends for haproxy beacon require servers."
		}
		if _, ok := backend.Value("servers").([]any); !ok {
			return "Servers for haproxy beacon must be a list."
		}
	}
	return ""
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	backends, _ := beacons.Merge(config).Value("backends").(*data.Map)
	var events []*data.Map
	for name, v := range backends.All() {
		backend, _ := v.(*data.Map)
		threshold, ok := backend.Get("threshold")
		if !ok {
			return nil, loader.Exception("KeyError", "'threshold'")
		}
		most, err := beacons.Number(threshold)
		if err != nil {
			return nil, err
		}
		for _, server := range data.ListOf(backend.Value("servers")) {
			current, err := b.env.Call(ctx, "haproxy.get_sessions", []any{server, name}, nil)
			if err != nil {
				return nil, err
			}
			if !data.Truth(current) {
				continue
			}
			n, err := beacons.Number(current)
			if err != nil {
				return nil, err
			}
			if n > most {
				events = append(events, data.NewMap("server", server, "scur", current, "threshold", threshold))
			}
		}
	}
	return events, nil
}
