// Package lvm is Salt's module lvm: physical volumes, volume groups and logical volumes, by means of
// the programs of LVM2 (salt/modules/linux_lvm.py).
//
// display.go reads volumes, physical.go changes physical volumes, group.go volume groups and
// logical.go logical volumes.
//
// Differences from Salt: arguments that a program would read as options are refused, and so are
// line ends; a line with too few columns is skipped; norestorefile is passed without a value. A
// volume or group that cannot be looked up is an error; only one that does not exist is absent.
package lvm

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module lvm. It loads only on hosts with the program lvm.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "lvm", File: "linux_lvm", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("lvm") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The linux_lvm execution module cannot be loaded: " +
			"the lvm binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("fullversion", m.fullversion),
		loader.F("lvcreate", m.lvcreate),
		loader.F("lvdisplay", m.lvdisplay),
		loader.F("lvextend", m.lvextend),
		loader.F("lvremove", m.lvremove),
		loader.F("lvresize", m.lvresize),
		loader.F("pvcreate", m.pvcreate),
		loader.F("pvdisplay", m.pvdisplay),
		loader.F("pvremove", m.pvremove),
		loader.F("pvresize", m.pvresize),
		loader.F("version", m.version),
		loader.F("vgcreate", m.vgcreate),
		loader.F("vgdisplay", m.vgdisplay),
		loader.F("vgextend", m.vgextend),
		loader.F("vgremove", m.vgremove),
	}}, nil
}

type noArgs struct{}

// version returns the version of LVM.
//
// CLI Example:
//
//	salt '*' lvm.version
func (m *module) version(ctx context.Context, _ noArgs) (any, error) {
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"lvm", "version"}})
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(out, "\n")
	_, version, ok := strings.Cut(first, ": ")
	if !ok {
		return nil, loader.Exception("IndexError", "list index out of range")
	}
	return strings.TrimSpace(version), nil
}

// fullversion returns the versions of LVM, its library and the kernel's driver, and how LVM was
// built.
//
// CLI Example:
//
//	salt '*' lvm.fullversion
func (m *module) fullversion(ctx context.Context, _ noArgs) (any, error) {
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"lvm", "version"}})
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	for line := range strings.Lines(out) {
		if parts := strings.Split(line, ":"); len(parts) > 1 {
			all.Set(strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]))
		}
	}
	return all, nil
}

// run runs a program of LVM.
func (m *module) run(ctx context.Context, argv ...string) (calls.Ran, error) {
	return calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
}

// act runs a program that changes something, and returns the text for success, or else its
// complaint.
func (m *module) act(ctx context.Context, success string, argv ...string) (string, error) {
	ran, err := m.run(ctx, argv...)
	if err == nil && ran.Retcode != 0 {
		success = strings.TrimSpace(ran.Stderr)
	}
	return success, err
}

// plain refuses operands that a program would read as options, and those with a line end.
func plain(operands ...string) error {
	if err := process.PlainOperands(operands...); err != nil {
		return loader.Execution("%w", err)
	}
	return nil
}

// oneLine refuses words with a line end; sizes may begin with a dash.
func oneLine(words ...string) error {
	for _, word := range words {
		if err := plain(strings.TrimLeft(word, "-")); err != nil {
			return err
		}
	}
	return nil
}

// consent returns the option for questions: answer yes, or be quiet.
func consent(force any, yes string) string {
	if data.Truth(force) {
		return yes
	}
	return "-qq"
}

// devicesOf returns the devices of a list, or of a text in which commas separate them.
func devicesOf(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return strings.Split(v, ","), nil
	case []any:
		devices := make([]string, len(v))
		for i, one := range v {
			devices[i] = data.Str(one)
		}
		return devices, nil
	}
	return nil, loader.TypeError("'%s' object is not iterable", loader.TypeName(v))
}

// options returns those keyword arguments as options of a program that it knows.
func options(kwargs *data.Map, known ...string) ([]string, error) {
	var argv []string
	for key, v := range kwargs.All() {
		name := data.Str(key)
		switch {
		case !data.Truth(v) || !slices.Contains(known, name):
			continue
		case name == "norestorefile":
			argv = append(argv, "--"+name)
		default:
			argv = append(argv, "--"+name, data.Str(v))
		}
	}
	return argv, oneLine(argv...)
}
