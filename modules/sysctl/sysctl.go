// Package sysctl is Salt's module sysctl: kernel parameters of Linux, in the running system and for
// the next boot (salt/modules/linux_sysctl.py).
//
// The program sysctl reads and sets the current values. Persistent values are kept in a
// configuration file, whose other lines stay unchanged.
//
// One thing differs from Salt: the file is replaced atomically.
package sysctl

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module sysctl.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "sysctl", File: "linux_sysctl", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if env.GrainsNow().Text("kernel") != "Linux" {
		return nil, errors.New("The linux_sysctl execution module cannot be loaded: only available on Linux systems.") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("assign", m.assign),
		loader.F("default_config", m.defaultConfig),
		loader.F("get", m.get),
		loader.F("persist", m.persist),
		loader.F("show", m.show),
	}}, nil
}

func (m *module) at(path string) string { return filepath.Join("/", m.env.Root, path) }

// program returns the path of the program sysctl.
func program() (string, error) {
	path := process.Find("sysctl")
	if path == "" {
		return "", loader.Execution("Command 'sysctl' cannot be found")
	}
	return path, nil
}

// defaultConfig returns the file for persistent parameters: a separate one under systemd,
// /etc/sysctl.conf elsewhere.
//
// CLI Example:
//
//	salt '*' sysctl.default_config
func (m *module) defaultConfig(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.usualFile(ctx), nil
}

func (m *module) usualFile(ctx context.Context) string {
	if systemd.Booted(m.env.Root) {
		if n, err := systemd.Version(ctx, m.env.Run); err == nil && n >= 207 {
			return "/etc/sysctl.d/99-salt.conf"
		}
	}
	return "/etc/sysctl.conf"
}

type showArgs struct {
	ConfigFile any `default:"False"`
}

// show returns the current values of all parameters, or those in a configuration file. It returns
// an empty list if the file does not exist, None if it cannot be read.
//
// CLI Example:
//
//	salt '*' sysctl.show
//	salt '*' sysctl.show config_file=/etc/sysctl.conf
func (m *module) show(ctx context.Context, a showArgs) (any, error) {
	if data.Truth(a.ConfigFile) {
		return m.configured(data.Str(a.ConfigFile)), nil
	}
	path, err := program()
	if err != nil {
		return nil, err
	}
	out, err := calls.RunStdout(ctx, m.env, calls.Run{Argv: []string{path, "-a"}, Log: "trace"})
	found := &data.Map{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " = "); ok {
			found.Set(name, value)
		}
	}
	return found, err
}

// configured returns the parameters in a configuration file.
func (m *module) configured(file string) any {
	src, err := os.ReadFile(m.at(file))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []any{}
	case err != nil:
		m.env.Log.Errorf("Could not open sysctl file: %v", err)
		return nil
	}
	found := &data.Map{}
	for line := range strings.Lines(string(src)) {
		if name, value, ok := setting(line); ok {
			found.Set(name, value)
		}
	}
	return found
}

// setting splits a line of a configuration file. ok is false if it sets nothing.
func setting(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	name, value, ok = strings.Cut(line, "=")
	return strings.TrimSpace(name), strings.TrimSpace(value), ok && !strings.HasPrefix(line, "#")
}

type nameArgs struct{ Name string }

// get returns the current value of a parameter.
//
// CLI Example:
//
//	salt '*' sysctl.get net.ipv4.ip_forward
func (m *module) get(ctx context.Context, a nameArgs) (any, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	if err := process.Operands(a.Name); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{path, "-n", a.Name}})
}

type assignArgs struct {
	Name  string
	Value any
}

// assign sets a parameter until the next boot, and returns it with its value.
//
// CLI Example:
//
//	salt '*' sysctl.assign net.ipv4.ip_forward 1
func (m *module) assign(ctx context.Context, a assignArgs) (any, error) {
	value := data.Str(a.Value)
	file := strings.NewReplacer(".", "/", "/", ".").Replace(a.Name)
	if _, err := os.Stat(m.at("/proc/sys/" + file)); err != nil {
		return nil, loader.Execution("sysctl %s does not exist", a.Name)
	}
	path, err := program()
	if err != nil {
		return nil, err
	}
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Argv: []string{path, "-w", a.Name + "=" + value}})
	if err != nil {
		return nil, err
	}
	out, output := ran.Stdout, ran.Stderr
	pattern := regexp.MustCompile(`^` + regexp.QuoteMeta(a.Name) + `\s+=\s+` +
		regexp.QuoteMeta(value) + `\n?$`)
	if !pattern.MatchString(out) || strings.Contains(output, "Invalid argument") {
		if ran.Retcode == 0 || output == "" {
			output = out
		}
		return nil, loader.Execution("sysctl -w failed: %s", output)
	}
	_, now, _ := strings.Cut(out, " = ")
	return data.NewMap(a.Name, now), nil
}

type persistArgs struct {
	Name   string
	Value  any
	Config any `default:"None"`
}

// persist sets a parameter now and for all later boots. It returns Updated or Already set.
//
// config
//
//	The configuration file. Default: that of sysctl.default_config.
//
// CLI Example:
//
//	salt '*' sysctl.persist net.ipv4.ip_forward 1
func (m *module) persist(ctx context.Context, a persistArgs) (any, error) {
	file := m.usualFile(ctx)
	if a.Config != nil {
		file = data.Str(a.Config)
	}
	if strings.ContainsAny(a.Name+strings.TrimRight(data.Str(a.Value), "\n"), "\r\n") {
		return nil, loader.Execution("sysctl %q = %q does not fit into one line", a.Name,
			data.Str(a.Value))
	}
	old, err := os.ReadFile(m.at(file))
	if errors.Is(err, os.ErrNotExist) {
		old = []byte("#\n# Kernel sysctl configuration\n#\n")
	} else if err != nil {
		return nil, loader.Execution("Could not read from file: %s", file)
	}
	text, same := edited(string(old), a.Name, data.Str(a.Value))
	if same {
		now, err := m.get(ctx, nameArgs{a.Name})
		if err != nil || blanks(data.Str(now)) == blanks(data.Str(a.Value)) {
			return "Already set", err
		}
	} else if err := m.write(file, text); err != nil {
		return nil, err
	}
	if _, err := m.assign(ctx, assignArgs{a.Name, a.Value}); err != nil {
		return nil, err
	}
	return "Updated", nil
}

// edited returns a configuration with a parameter set. same is true if the parameter already has
// the value.
func edited(text, name, value string) (edited string, same bool) {
	var b strings.Builder
	found := false
	for line := range strings.Lines(text) {
		is, now, ok := setting(line)
		switch {
		case !ok || is != name:
			b.WriteString(line)
		case blanks(now) == blanks(value):
			return text, true
		default:
			found = true
			b.WriteString(name + " = " + value + "\n")
		}
	}
	if !found {
		if text := b.String(); text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(name + " = " + value + "\n")
	}
	return b.String(), false
}

var white = regexp.MustCompile(`\s+`)

// blanks replaces white space in a value by single tabs, as the kernel shows it.
func blanks(value string) string { return white.ReplaceAllString(value, "\t") }

// write replaces the contents of a configuration file. Its mode and owner stay.
func (m *module) write(file, text string) error {
	path := m.at(file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return loader.Execution("Could not write to file: %s: %w", file, err)
	}
	if err := atomicfile.Write(path, []byte(text),
		atomicfile.Options{Follow: true, Mode: 0o644, Keep: true}); err != nil {
		return loader.Execution("Could not write to file: %s: %w", file, err)
	}
	return nil
}
