// Package config is Salt's wheel module config: it shows the master's configuration and writes to
// it (salt/wheel/config.py).
package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// Plugin returns the wheel module config.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "config", New: func(env *loader.Env) (*loader.Module, error) {
		m := &module{env}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("apply", m.apply).Secret("value"),
			loader.F("update_config", m.updateConfig).Secret("yaml_contents"),
			loader.F("values", m.values).SecretResult(),
		}}, nil
	}}
}

type module struct{ env *loader.Env }

// values returns the master's options.
//
// CLI Example:
//
//	salt-call saltutil.wheel config.values
func (m *module) values(context.Context, loader.NoArgs) (any, error) { return m.env.Opts, nil }

type applyArgs struct {
	Key   string
	Value any
}

// apply sets an option in the master's configuration file. Unlike in Salt the other options of the
// file stay as written, and defaults are not added; comments are lost.
//
// CLI Example:
//
//	salt-call saltutil.wheel config.apply loop_interval 60
func (m *module) apply(_ context.Context, a applyArgs) (any, error) {
	file := m.env.Opts.Text("conf_file")
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "master")
	}
	options, err := read(file)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	options.Set(a.Key, a.Value)
	text, err := yaml.Dump(options, yaml.DumpOptions{SortKeys: true})
	if err != nil {
		return nil, loader.Execution("set %s: %w", a.Key, err)
	}
	if err := replace(filepath.Dir(file), filepath.Base(file), text); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return nil, nil
}

// read returns the content of a configuration file; a missing one is empty.
func read(file string) (*data.Map, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return &data.Map{}, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := yaml.Load(text, yaml.Options{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	m, ok := v.(*data.Map)
	if !ok && v != nil {
		return nil, fmt.Errorf("read %s: it is not a dictionary", file)
	}
	if m == nil {
		m = &data.Map{}
	}
	return m, nil
}

type updateArgs struct {
	FileName     string
	YAMLContents any `name:"yaml_contents"`
}

// maxFileName is the maximum length of a file name below master.d.
const maxFileName = 201

// fileName matches valid file names below master.d.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// updateConfig writes options to the file FILE_NAME.conf in the directory of default_include, which
// is master.d.
//
// CLI Example:
//
//	salt-call saltutil.wheel config.update_config gui yaml_contents='{loop_interval: 60}'
func (m *module) updateConfig(_ context.Context, a updateArgs) (any, error) {
	name := a.FileName + ".conf"
	if len(name) > maxFileName || !fileName.MatchString(name) {
		return "Invalid path", nil
	}
	text, err := yaml.Dump(a.YAMLContents, yaml.DumpOptions{SortKeys: true})
	if err != nil {
		return err.Error(), nil
	}
	dir := m.env.Opts.Text("config_dir")
	if dir == "" {
		dir = filepath.Dir(m.env.Opts.Text("conf_file"))
	}
	dir = filepath.Join(dir, filepath.Dir(m.env.Opts.Text("default_include")))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err.Error(), nil
	}
	if err := replace(dir, name, text); err != nil {
		return err.Error(), nil
	}
	return "Wrote " + name, nil
}

// replace replaces a file atomically; an existing one keeps its mode.
func replace(dir, name string, text []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := atomicfile.WriteIn(root, name, text,
		atomicfile.Options{Mode: 0o600, KeepMode: true, Sync: true}); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
