// Package keyboard is Salt's module keyboard: the layouts of the system's keyboard and of X
// (salt/modules/keyboard.py).
//
// Differences from Salt: a layout is one word; a layout that is not set is an error.
package keyboard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module keyboard. It is available with the program localectl, and on the families
// RedHat, Debian and Gentoo.
func Plugin() loader.Plugin { return loader.Plugin{Name: "keyboard", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if file, _ := m.file(); process.Find("localectl") == "" && file == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The keyboard exeuction module cannot be loaded: " +
			"only works on Redhat, Debian or Gentoo systems or if localectl binary in path.")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get_sys", m.getSys),
		loader.F("get_x", m.getX),
		loader.F("set_sys", m.setSys),
		loader.F("set_x", m.setX),
	}}, nil
}

// file returns the file with the layout on systems without localectl, and the name of the setting.
func (m *module) file() (path, key string) {
	switch m.env.GrainsNow().Text("os_family") {
	case "RedHat":
		path, key = "etc/sysconfig/keyboard", "LAYOUT="
	case "Debian":
		path, key = "etc/default/keyboard", "XKBLAYOUT="
	case "Gentoo":
		path, key = "etc/conf.d/keymaps", "keymap="
	default:
		return "", ""
	}
	return filepath.Join("/", m.env.Root, path), key
}

// run runs a program and returns what it prints. Its failure is an error.
func (m *module) run(ctx context.Context, argv ...string) (string, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, MergeStderr: true})
	if err == nil && ran.Retcode != 0 {
		err = loader.Execution("%s: code %d: %s", strings.Join(argv, " "), ran.Retcode,
			strings.TrimSpace(ran.Stdout+"\n"+ran.Stderr))
	}
	return ran.Stdout, err
}

type noArgs struct{}

// getSys returns the layout of the system's keyboard.
//
// CLI Example:
//
//	salt '*' keyboard.get_sys
func (m *module) getSys(ctx context.Context, _ noArgs) (any, error) {
	if process.Find("localectl") == "" {
		return m.fromFile()
	}
	out, err := m.run(ctx, "localectl")
	if err != nil {
		return nil, err
	}
	return layout(out, "VC Keymap: ")
}

// fromFile returns the layout of a system without localectl.
func (m *module) fromFile() (string, error) {
	path, key := m.file()
	src, err := os.ReadFile(path)
	if err != nil {
		return "", loader.OSError(err)
	}
	return layout(string(src), key)
}

// layout returns what follows a key at the beginning of a line.
func layout(text, key string) (string, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key); ok {
			return strings.ReplaceAll(value, `"`, ""), nil
		}
	}
	return "", loader.Execution("the system has no keyboard layout")
}

type layoutArgs struct{ Layout string }

func word(layout string) error {
	if err := process.PlainOperands(layout); err != nil {
		return loader.Execution("%w", err)
	}
	if len(strings.Fields(layout)) != 1 || strings.ContainsAny(layout, "\"'$`\\#") {
		return loader.Execution("the keyboard layout '%s' is not one word", layout)
	}
	return nil
}

// setSys sets the layout of the system's keyboard, and returns it.
//
// CLI Example:
//
//	salt '*' keyboard.set_sys dvorak
func (m *module) setSys(ctx context.Context, a layoutArgs) (any, error) {
	if err := word(a.Layout); err != nil {
		return nil, err
	}
	if process.Find("localectl") == "" {
		return a.Layout, m.intoFile(a.Layout)
	}
	_, err := m.run(ctx, "localectl", "set-keymap", a.Layout)
	return a.Layout, err
}

// intoFile sets the layout of a system without localectl. A file without one gets it as its last line.
func (m *module) intoFile(layout string) error {
	path, key := m.file()
	src, err := os.ReadFile(path)
	if err != nil {
		return loader.OSError(err)
	}
	lines, found := strings.SplitAfter(string(src), "\n"), false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), key) {
			lines[i], found = key+layout+"\n", true
		}
	}
	text := strings.Join(lines, "")
	if !found {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += key + layout + "\n"
	}
	if err := atomicfile.Write(path, []byte(text), atomicfile.Options{Follow: true, Keep: true}); err != nil {
		return loader.OSError(err)
	}
	return nil
}

// getX returns the layout of the keyboard in X.
//
// CLI Example:
//
//	salt '*' keyboard.get_x
func (m *module) getX(ctx context.Context, _ noArgs) (any, error) {
	out, err := m.run(ctx, "setxkbmap", "-query")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		if value, ok := strings.CutPrefix(line, "layout:"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return nil, loader.Execution("setxkbmap reports no keyboard layout: %s", strings.TrimSpace(out))
}

// setX sets the layout of the keyboard in X, and returns it.
//
// CLI Example:
//
//	salt '*' keyboard.set_x dvorak
func (m *module) setX(ctx context.Context, a layoutArgs) (any, error) {
	if err := word(a.Layout); err != nil {
		return nil, err
	}
	_, err := m.run(ctx, "setxkbmap", a.Layout)
	return a.Layout, err
}
