// Package status is Salt's beacon status: it reports the results of functions of the module status
// (salt/beacons/status.py).
package status

import (
	"context"
	"time"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the beacon status.
func Plugin() loader.Plugin {
	return beacons.Plugin("status", "",
		func(env *loader.Env) (beacons.Beacon, error) { return beacon{env}, nil })
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	return beacons.Verdict(beacons.NotList("status", config))
}

// standard is the configuration of an empty one.
func standard() []*data.Map {
	all := []any{"all"}
	return []*data.Map{data.NewMap("loadavg", all, "cpustats", all, "meminfo", all, "vmstats", all, "time", all)}
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	items := beacons.Items(config)
	if len(items) == 0 {
		items = standard()
	}
	now, found := time.Now().UTC(), data.NewMap()
	for _, item := range items {
		for fun, wanted := range item.All() {
			v, err := b.env.Call(ctx, "status."+data.Str(fun), nil, nil)
			if loader.KindOf(err) == loader.KindExecution {
				b.env.Log.WithError(err).Debugf("Status beacon attempted to process function %s", data.Str(fun))
				found.Set(fun, data.NewMap())
				continue
			}
			if err != nil {
				return nil, err
			}
			shown, err := pick(v, wanted)
			if err != nil {
				return nil, err
			}
			found.Set(fun, shown)
		}
	}
	tag := now.Format("2006-01-02T15:04:05.000000") // Python's isoformat
	return []*data.Map{data.NewMap("tag", tag, "data", found)}, nil
}

// pick returns the wanted items of a result, or all of it.
func pick(v, wanted any) (any, error) {
	list, ok := wanted.([]any)
	if !ok {
		list = []any{wanted}
	}
	var shown any = data.NewMap()
	for _, key := range list {
		if key == "all" {
			shown = v
			continue
		}
		one, found, err := item(v, key)
		if err != nil {
			return nil, err
		}
		if !found {
			shown = "Status beacon is incorrectly configured: " + data.Repr(key)
			continue
		}
		if m, ok := shown.(*data.Map); ok {
			m.Set(key, one)
		}
	}
	return shown, nil
}

// item returns an item of a dictionary by its key, or of a list or a text by its number.
func item(v, key any) (one any, found bool, err error) {
	if m, ok := v.(*data.Map); ok {
		if !data.Hashable(key) {
			return nil, false, loader.TypeError("unhashable type: '%s'", loader.TypeName(key))
		}
		one, found = m.Get(key)
		return one, found, nil
	}
	n, err := beacons.Number(key)
	if err != nil {
		return nil, false, err
	}
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case string:
		for _, r := range v {
			list = append(list, string(r))
		}
	default:
		return nil, false, loader.TypeError("'%s' object is not subscriptable", loader.TypeName(v))
	}
	i := int(n)
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil, false, loader.Exception("IndexError", "%s index out of range", loader.TypeName(v))
	}
	return list[i], true, nil
}
