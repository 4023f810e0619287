// Package saltmonitor is Salt's beacon salt_monitor: it calls execution functions and reports their
// results (salt/beacons/salt_monitor.py).
package saltmonitor

import (
	"context"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the beacon salt_monitor.
func Plugin() loader.Plugin {
	return beacons.Plugin("salt_monitor", "", func(env *loader.Env) (beacons.Beacon, error) {
		return beacon{env}, nil
	})
}

type beacon struct{ env *loader.Env }

// A call is a function with its arguments.
type call struct {
	fun    string
	args   []any
	kwargs *data.Map
}

func (b beacon) Validate(config any) (bool, string) {
	wanted, ok := beacons.Merge(config).Get("salt_fun")
	if !ok {
		return false, "Configuration for salt_monitor beacon requires salt_fun."
	}
	list, isList := wanted.([]any)
	if _, isText := wanted.(string); !isList && !isText {
		return false, "salt_fun of salt_monitor beacon must be the name of a function or a list."
	}
	if !isList {
		list = []any{wanted}
	}
	for _, entry := range list {
		if fault := b.fault(entry); fault != "" {
			return false, fault
		}
	}
	return true, "valid config"
}

func (b beacon) fault(entry any) string {
	fun := data.Str(entry)
	if m, ok := entry.(*data.Map); ok && m.Len() > 0 {
		key, v := m.At(0)
		fun = data.Str(key)
		words, _ := v.(*data.Map)
		for name, value := range words.All() {
			list, isList := value.([]any)
			switch {
			case name == "args" && !isList:
				return "args key for fun " + fun + " must be list"
			case name == "args":
			case name == "kwargs" && !isList:
				return "kwargs key for fun " + fun + " must be list of key value pairs"
			case name == "kwargs":
				for _, pair := range list {
					if _, ok := pair.(*data.Map); !ok {
						return data.Str(pair) + " is not a key / value pair"
					}
				}
			default:
				return "key " + data.Str(name) + " not allowed under fun " + fun
			}
		}
	}
	if !b.env.Functions.Has(fun) {
		return fun + " not in __salt__"
	}
	return ""
}

// calls returns the configured calls.
func calls(list []any) []call {
	var all []call
	for _, entry := range list {
		m, ok := entry.(*data.Map)
		if !ok || m.Len() == 0 {
			all = append(all, call{fun: data.Str(entry)})
			continue
		}
		key, v := m.At(0)
		words, _ := v.(*data.Map)
		c := call{fun: data.Str(key), args: data.ListOf(words.Value("args"))}
		if pairs := beacons.Merge(words.Value("kwargs")); pairs.Len() > 0 {
			c.kwargs = pairs
		}
		all = append(all, c)
	}
	return all
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	wanted := beacons.Merge(config).Value("salt_fun")
	if fun, ok := wanted.(string); ok { // the result of a single function is reported in any case
		ret, err := b.env.Call(ctx, fun, nil, nil)
		return []*data.Map{data.NewMap("salt_fun", fun, "ret", ret)}, err
	}
	var events []*data.Map
	for _, c := range calls(data.ListOf(wanted)) {
		ret, err := b.env.Call(ctx, c.fun, c.args, c.kwargs)
		if err != nil {
			return nil, err
		}
		if !data.Truth(ret) {
			continue
		}
		event := data.NewMap("salt_fun", c.fun, "ret", ret)
		if len(c.args) > 0 {
			event.Set("args", c.args)
		}
		if c.kwargs != nil {
			event.Set("kwargs", c.kwargs)
		}
		events = append(events, event)
	}
	return events, nil
}
