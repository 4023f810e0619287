// Package glxinfo is Salt's beacon glxinfo: it reports when the display of a host becomes available
// or unavailable (salt/beacons/glxinfo.py).
package glxinfo

import (
	"context"
	"errors"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Plugin returns the beacon glxinfo.
func Plugin() loader.Plugin {
	return beacons.Plugin("glxinfo", "", func(env *loader.Env) (beacons.Beacon, error) {
		if process.Find("glxinfo") == "" {
			return nil, errors.New("glxinfo is missing.") //nolint:staticcheck // Salt's text
		}
		return beacon{env}, nil
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	fault := beacons.NotList("glxinfo", config)
	if fault == "" && !beacons.Merge(config).Has("user") {
		fault = "Configuration for glxinfo beacon must include a user as glxinfo is not available to root."
	}
	return beacons.Verdict(fault)
}

// seen is whether the display was available in the last turn; nil before the first.
type seen struct{ available *bool }

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := beacons.State[seen](ctx)
	if err != nil {
		return nil, err
	}
	set := beacons.Merge(config)
	code, err := b.env.Call(ctx, "cmd.retcode", []any{"DISPLAY=:0 glxinfo"},
		data.NewMap("runas", set.Value("user"), "python_shell", true))
	if err != nil || !data.Truth(set.Value("screen_event")) {
		return nil, err
	}
	available, before := code == int64(0), kept.available
	kept.available = &available
	if before != nil && *before == available {
		return nil, nil
	}
	return []*data.Map{data.NewMap("tag", "screen_event", "screen_available", available)}, nil
}
