// Package udev is Salt's module udev: what udev knows of devices, by the program udevadm
// (salt/modules/udev.py).
package udev

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module udev. It is available on hosts with the program udevadm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "udev", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("udevadm") == "" {
		return nil, errors.New("the module udev needs the program udevadm")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("env", m.variables),
		loader.F("exportdb", m.exportdb),
		loader.F("info", m.info),
		loader.F("links", m.links),
		loader.F("name", m.name),
		loader.F("path", m.path),
	}}, nil
}

// run returns what udevadm info reports of devices.
func (m *module) run(ctx context.Context, options ...string) ([]any, error) {
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Argv: append([]string{"udevadm", "info"}, options...), Log: "quiet"})
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return nil, loader.Execution("%s", ran.Stderr)
	}
	return parse(ran.Stdout), nil
}

// parse reads the devices that udevadm reports, with an empty line between them.
func parse(text string) []any {
	devices, device := []any{}, &data.Map{}
	end := func() {
		if device.Len() == 0 {
			return
		}
		for key, v := range device.All() {
			if list, ok := v.([]any); ok && len(list) == 1 {
				device.Set(key, list[0])
			}
		}
		devices, device = append(devices, device), &data.Map{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		name, setting, is := strings.Cut(value, "=")
		switch {
		case strings.TrimSpace(line) == "":
			end()
		case !ok || key == "E" && !is:
		case key == "E":
			variables, ok := device.Value(key).(*data.Map)
			if !ok {
				variables = &data.Map{}
				device.Set(key, variables)
			}
			variables.Set(name, number(setting))
		default:
			list, _ := device.Value(key).([]any)
			device.Set(key, append(list, value))
		}
	}
	end()
	return devices
}

// number converts a text to a number if it is one.
func number(text string) any {
	if n, err := loader.Int(text); err == nil {
		return n
	}
	if f, err := loader.Float(text); err == nil {
		return f
	}
	return text
}

type devArgs struct{ Dev string }

// info returns all that udev knows of a device, by the letters of udevadm: P, N, L, S, E and others.
//
// dev
//
//	The device, such as /dev/sda, or its path with sys in it, such as /sys/class/net/eth0.
//
// CLI Example:
//
//	salt '*' udev.info /dev/sda
//	salt '*' udev.info /sys/class/net/eth0
func (m *module) info(ctx context.Context, a devArgs) (any, error) { return m.device(ctx, a.Dev) }

func (m *module) device(ctx context.Context, dev string) (*data.Map, error) {
	kind := "name"
	if strings.Contains(dev, "sys") {
		kind = "path"
	}
	if strings.ContainsAny(dev, "\n\r\x00") {
		return nil, loader.Execution("the device %q has more than one line", dev)
	}
	devices, err := m.run(ctx, "--export", "--query=all", "--"+kind+"="+dev)
	if err != nil {
		return nil, err
	}
	if len(devices) == 0 {
		return nil, loader.Execution("udevadm reports nothing of %s", dev)
	}
	return devices[0].(*data.Map), nil
}

func (m *module) part(ctx context.Context, dev, key string) (any, error) {
	device, err := m.device(ctx, dev)
	return device.Value(key), err
}

// variables returns the environment of a device.
//
// CLI Example:
//
//	salt '*' udev.env /dev/sda
func (m *module) variables(ctx context.Context, a devArgs) (any, error) {
	return m.part(ctx, a.Dev, "E")
}

// name returns the name of a device, or its names.
//
// CLI Example:
//
//	salt '*' udev.name /sys/class/block/sda
func (m *module) name(ctx context.Context, a devArgs) (any, error) { return m.part(ctx, a.Dev, "N") }

// path returns the path of a device below /sys.
//
// CLI Example:
//
//	salt '*' udev.path /dev/sda
func (m *module) path(ctx context.Context, a devArgs) (any, error) { return m.part(ctx, a.Dev, "P") }

// links returns the symbolic links to a device: a text for one, a list for several.
//
// CLI Example:
//
//	salt '*' udev.links /dev/sda
func (m *module) links(ctx context.Context, a devArgs) (any, error) { return m.part(ctx, a.Dev, "S") }

type noArgs struct{}

// exportdb returns all that udev knows of all devices.
//
// CLI Example:
//
//	salt '*' udev.exportdb
func (m *module) exportdb(ctx context.Context, _ noArgs) (any, error) {
	return m.run(ctx, "--export-db")
}
