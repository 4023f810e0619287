package sdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// getenv reads a value with the driver env (salt/sdb/env.py).
func getenv(key string) any {
	if v, ok := os.LookupEnv(key); ok {
		return v
	}
	return nil
}

func setenv(key string, v any) (any, error) {
	if old, ok := os.LookupEnv(key); ok {
		return old, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, loader.TypeError("str expected, not %s", loader.TypeName(v))
	}
	return text, os.Setenv(key, text)
}

// readYAML reads a value with the driver yaml (salt/sdb/yaml.py): it merges files and looks the key
// up.
func (m *module) readYAML(ctx context.Context, p place) (any, error) {
	all := data.NewMap()
	files, _ := p.profile.Value("files").([]any)
	how, _ := p.profile.Value("merge").(*data.Map)
	strategy := "smart"
	if v, ok := how.Get("strategy"); ok {
		strategy = data.Str(v)
	}
	for _, f := range files {
		values, err := m.values(data.Str(f))
		if err != nil {
			return nil, err
		}
		if values != nil {
			all = pillar.MergeAs(strategy, data.Truth(how.Value("merge_lists")), all, values)
		}
	}
	var from any = all
	if data.Truth(p.profile.Value("gpg")) {
		e, err := m.engine()
		if err != nil {
			return nil, err
		}
		if from, err = e.RenderData(ctx, all, render.Input{Default: "gpg"}); err != nil {
			return nil, fmt.Errorf("decrypt %s: %w", p.key, err)
		}
	}
	v, _ := data.Lookup(from, p.key, ":")
	return v, nil
}

// values returns the contents of a file. It returns nil and logs an error if the file is missing or
// holds no dictionary.
func (m *module) values(file string) (*data.Map, error) {
	text, err := os.ReadFile(file)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		m.env.Log.WithError(pathErr).Errorf("File '%s' not found ", file)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := yaml.Load(text, yaml.Options{Name: file})
	if bad, ok := errors.AsType[*yaml.Error](err); ok && bad.OfScanner() {
		return nil, loader.Exception("salt.serializers.DeserializationError",
			"Unknown yaml render error")
	}
	if err != nil {
		return nil, loader.Exception("salt.serializers.DeserializationError", "%w", err)
	}
	values, ok := v.(*data.Map)
	if !ok {
		m.env.Log.Errorf("Error deserializing sdb file '%s': it does not contain a dictionary",
			file)
	}
	return values, nil
}
