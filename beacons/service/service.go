// Package service is Salt's beacon service: it reports whether services run, at each turn or when
// that changes (salt/beacons/service.py).
package service

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the beacon service.
func Plugin() loader.Plugin {
	return beacons.Plugin("service", "",
		func(env *loader.Env) (beacons.Beacon, error) { return beacon{env}, nil })
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) { return beacons.Verdict(fault(config)) }

func fault(config any) string {
	if text := beacons.NotList("service", config); text != "" {
		return text
	}
	set := beacons.Merge(config)
	if !set.Has("services") {
		return "Configuration for service beacon requires services."
	}
	services, ok := set.Value("services").(*data.Map)
	if !ok {
		return "Services configuration item for service beacon must be a dictionary."
	}
	for _, one := range services.All() {
		if _, ok := one.(*data.Map); !ok {
			return "Configuration for service beacon must be a list of dictionaries."
		}
	}
	return ""
}

// seen is what was reported of the services with onchangeonly.
type seen struct{ services map[string]*last }

// last is the last state of a service.
type last struct {
	running any
	since   time.Time // of a change that is reported after a delay; zero if there is none
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := beacons.State[seen](ctx)
	if err != nil {
		return nil, err
	}
	if kept.services == nil {
		kept.services = map[string]*last{}
	}
	services, _ := beacons.Merge(config).Value("services").(*data.Map)
	var events []*data.Map
	var errs []error
	for name, v := range services.All() {
		options, _ := v.(*data.Map)
		state, err := b.state(ctx, name, options)
		fires := err == nil
		if fires && options.Value("onchangeonly") == true {
			fires, err = kept.changes(data.Str(name), state.Value("running"), options)
		}
		errs = append(errs, err)
		if fires {
			events = append(events, data.NewMap(name, state.Clone(), "service_name", name, "tag", name))
		}
	}
	return beacons.Partial(b.env, config, events, errors.Join(errs...))
}

// state returns whether a service runs and, if it does not, whether its file uncleanshutdown exists.
func (b beacon) state(ctx context.Context, name any, options *data.Map) (*data.Map, error) {
	running, err := b.env.Call(ctx, "service.status", []any{name}, nil)
	if err != nil {
		return nil, err
	}
	state := data.NewMap("running", running)
	if file, ok := options.Get("uncleanshutdown"); ok && !data.Truth(running) {
		_, err := os.Stat(filepath.Join(b.env.Root, data.Str(file)))
		state.Set("uncleanshutdown", !errors.Is(err, fs.ErrNotExist))
	}
	return state, nil
}

// changes reports whether a state is reported: when it is new, at once or after the delay.
func (s *seen) changes(name string, running any, options *data.Map) (fires bool, err error) {
	delay := 0.0
	if v, ok := options.Get("delay"); ok {
		if delay, err = beacons.Number(v); err != nil {
			return false, err
		}
	}
	before := s.services[name]
	if before == nil || !data.Equal(before.running, running) {
		s.services[name] = &last{running: running}
		if v, ok := options.Get("emitatstartup"); before == nil && ok && !data.Truth(v) {
			return false, nil
		}
		if delay <= 0 {
			return true, nil
		}
		s.services[name].since = time.Now()
	}
	now := s.services[name]
	if !now.since.IsZero() && math.RoundToEven(time.Since(now.since).Seconds()) > delay {
		now.since = time.Time{}
		return true, nil
	}
	return false, nil
}
