// Package load is Salt's beacon load: it reports load averages outside of their limits
// (salt/beacons/load.py). Unlike Salt's it accepts a configuration with only some of the averages.
package load

import (
	"context"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the beacon load.
func Plugin() loader.Plugin {
	return beacons.Plugin("load", "", func(env *loader.Env) (beacons.Beacon, error) {
		return beacon{env}, beacons.Need(env, "status.loadavg")
	})
}

type beacon struct{ env *loader.Env }

// averages are the names of the averages, in the configuration and of status.loadavg.
type averages struct{ name, of string }

func names() []averages { return []averages{{"1m", "1-min"}, {"5m", "5-min"}, {"15m", "15-min"}} }

func (beacon) Validate(config any) (bool, string) { return beacons.Verdict(fault(config)) }

func fault(config any) string {
	if text := beacons.NotList("load", config); text != "" {
		return text
	}
	set := beacons.Merge(config)
	for _, key := range []string{"emitatstartup", "onchangeonly"} {
		if v, ok := set.Get(key); ok {
			if _, isBool := v.(bool); !isBool {
				return "Configuration for load beacon option " + key + " must be a boolean."
			}
		}
	}
	if !set.Has("averages") {
		return "Averages configuration is required for load beacon."
	}
	limits, _ := set.Value("averages").(*data.Map)
	found := false
	for _, n := range names() {
		v, ok := limits.Get(n.name)
		if !ok {
			continue
		}
		found = true
		list, isList := v.([]any)
		switch {
		case !isList:
			return "Averages configuration for load beacon: 1m, 5m and 15m items must be a list of two items."
		case len(list) != 2:
			return "Configuration for load beacon: 1m, 5m and 15m items must be a list of two items."
		}
	}
	if !found {
		return "Averages configuration for load beacon must contain 1m, 5m or 15m items."
	}
	return ""
}

// seen holds the averages of the last turn with onchangeonly.
type seen struct{ last map[string]float64 }

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	set := beacons.Merge(config)
	now, all, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	changes := data.Truth(set.Value("onchangeonly"))
	kept, _, err := beacons.State[seen](ctx)
	if err != nil {
		return nil, err
	}
	last := kept.last
	if changes {
		kept.last = now
		if last == nil {
			last = now
			if v, ok := set.Get("emitatstartup"); ok && !data.Truth(v) {
				return nil, nil
			}
		}
	}
	limits, _ := set.Value("averages").(*data.Map)
	for _, n := range names() {
		list, ok := limits.Value(n.name).([]any)
		if !ok || len(list) != 2 {
			continue
		}
		low, err := beacons.Number(list[0])
		if err != nil {
			return nil, err
		}
		high, err := beacons.Number(list[1])
		if err != nil {
			return nil, err
		}
		load, before := now[n.name], last[n.name]
		outside := load < low || load > high
		if changes {
			outside = load > high && before < high || load < low && before > low
		}
		if outside {
			return []*data.Map{all}, nil
		}
	}
	return nil, nil
}

// read returns the load averages, also as an event.
func (b beacon) read(ctx context.Context) (map[string]float64, *data.Map, error) {
	found, err := loader.CallAs[*data.Map](ctx, b.env, "status.loadavg", nil, nil)
	if err != nil {
		return nil, nil, err
	}
	now, all := map[string]float64{}, data.NewMap()
	for _, n := range names() {
		if now[n.name], err = beacons.Number(found.Value(n.of)); err != nil {
			return nil, nil, err
		}
		all.Set(n.name, now[n.name])
	}
	return now, all, nil
}
