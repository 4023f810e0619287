// Package pkg is Salt's beacon pkg: it reports packages that were installed or removed, or have an
// upgrade (salt/beacons/pkg.py). As in Salt, refresh: True has no effect.
package pkg

import (
	"context"
	"errors"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the beacon pkg.
func Plugin() loader.Plugin {
	return beacons.Plugin("pkg", "", func(env *loader.Env) (beacons.Beacon, error) {
		return beacon{env}, beacons.Need(env, "pkg.upgrade_available")
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	fault := beacons.NotList("pkg", config)
	if fault == "" && !hasList(config) {
		fault = "Configuration for pkg beacon requires list of pkgs."
	}
	return beacons.Verdict(fault)
}

func hasList(config any) bool {
	for _, item := range data.ListOf(config) {
		part, _ := item.(*data.Map)
		if _, ok := part.Value("pkgs").([]any); ok {
			return true
		}
	}
	return false
}

// wanted returns the names of the packages.
func wanted(config any) []any {
	var pkgs []any
	for _, item := range data.ListOf(config) {
		part, _ := item.(*data.Map)
		list, _ := part.Value("pkgs").([]any)
		pkgs = append(pkgs, list...)
	}
	return pkgs
}

// seen holds the state of the packages in the last turn.
type seen struct{ states map[string]string }

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := beacons.State[seen](ctx)
	if err != nil {
		return nil, err
	}
	if kept.states == nil {
		kept.states = map[string]string{}
	}
	var events []*data.Map
	var errs []error
	for _, name := range wanted(config) {
		state, version, err := b.state(ctx, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		before := kept.states[data.Str(name)]
		kept.states[data.Str(name)] = state
		if before != "" && before != state {
			events = append(events, data.NewMap("pkg", name, "version", version, "status", state))
		}
	}
	return beacons.Partial(b.env, config, events, errors.Join(errs...))
}

// state returns the state of a package and its version: the installed one, or that of the upgrade.
func (b beacon) state(ctx context.Context, name any) (state string, version any, err error) {
	installed, err := b.env.Call(ctx, "pkg.version", []any{name}, data.NewMap("use_context", false))
	if err != nil {
		return "", nil, err
	}
	if !data.Truth(installed) {
		return "not-installed", nil, nil
	}
	latest, err := b.env.Call(ctx, "pkg.latest_version", []any{name}, data.NewMap("refresh", false))
	if err != nil {
		return "", nil, err
	}
	if data.Truth(latest) {
		return "upgrade", latest, nil
	}
	return "installed", installed, nil
}
