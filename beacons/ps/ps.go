// Package ps is Salt's beacon ps: it reports whether processes run (salt/beacons/ps.py).
package ps

import (
	"context"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the beacon ps.
func Plugin() loader.Plugin {
	return beacons.Plugin("ps", "", func(env *loader.Env) (beacons.Beacon, error) {
		return beacon{env}, beacons.Need(env, "ps.get_pid_list", "ps.proc_info")
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	fault := beacons.NotList("ps", config)
	if set := beacons.Merge(config); fault == "" {
		if _, isMap := set.Value("processes").(*data.Map); !set.Has("processes") {
			fault = "Configuration for ps beacon requires processes."
		} else if !isMap {
			fault = "Processes for ps beacon must be a dictionary."
		}
	}
	return beacons.Verdict(fault)
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	running, err := b.names(ctx)
	if err != nil {
		return nil, err
	}
	wanted, _ := beacons.Merge(config).Value("processes").(*data.Map)
	var events []*data.Map
	for name, state := range wanted.All() {
		runs := running[data.Str(name)]
		switch {
		case state == "running" && runs:
			events = append(events, data.NewMap(name, "Running"))
		case state == "stopped" && !runs:
			events = append(events, data.NewMap(name, "Stopped"))
		case state != "running" && state != "stopped" && !runs:
			events = append(events, data.NewMap(name, false))
		}
	}
	return events, nil
}

// names returns the names of all processes.
func (b beacon) names(ctx context.Context) (map[string]bool, error) {
	pids, err := loader.CallAs[[]any](ctx, b.env, "ps.get_pid_list", nil, nil)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, pid := range pids {
		info, err := loader.CallAs[*data.Map](ctx, b.env, "ps.proc_info", []any{pid},
			data.NewMap("attrs", []any{"name"}))
		if err != nil {
			continue // the process has ended
		}
		names[info.Text("name")] = true
	}
	return names, nil
}
