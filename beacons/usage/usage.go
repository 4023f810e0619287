// Package usage has Salt's beacons memusage, swapusage and diskusage: they report memory, swap space
// and file systems that are used by more than a limit (salt/beacons/memusage.py, swapusage.py and
// diskusage.py).
package usage

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Memory returns the beacon memusage.
func Memory() loader.Plugin { return plugin("memusage", "ps.virtual_memory") }

// Swap returns the beacon swapusage.
func Swap() loader.Plugin { return plugin("swapusage", "ps.swap_memory") }

func plugin(name, fun string) loader.Plugin {
	return beacons.Plugin(name, "", func(env *loader.Env) (beacons.Beacon, error) {
		return part{env, name, fun}, beacons.Need(env, fun)
	})
}

// A part watches the value percent of a function.
type part struct {
	env       *loader.Env
	name, fun string
}

func (p part) Validate(config any) (bool, string) {
	fault := beacons.NotList(p.name, config)
	if fault == "" && !beacons.Merge(config).Has("percent") {
		fault = "Configuration for " + p.name + " beacon requires percent."
	}
	if fault == "" {
		fault = percentFault(p.name, beacons.Merge(config).Value("percent"))
	}
	return beacons.Verdict(fault)
}

// percentFault returns the fault of a limit.
func percentFault(name string, limit any) string {
	if _, err := beacons.Percent(limit); err != nil {
		return fmt.Sprintf("Configuration for %s beacon has an invalid limit: %v", name, err)
	}
	return ""
}

func (p part) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	limit, err := beacons.Percent(beacons.Merge(config).Value("percent"))
	if err != nil {
		return nil, err
	}
	used, err := percent(ctx, p.env, p.fun, nil)
	if err != nil || used < limit {
		return nil, err
	}
	return []*data.Map{data.NewMap(p.name, used)}, nil
}

// percent returns the value percent of a function of the module ps.
func percent(ctx context.Context, env *loader.Env, fun string, args []any) (float64, error) {
	found, err := loader.CallAs[*data.Map](ctx, env, fun, args, nil)
	if err != nil {
		return 0, err
	}
	return beacons.Number(found.Value("percent"))
}
