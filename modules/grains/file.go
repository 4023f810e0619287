package grains

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

const maxFile = 8 << 20 // the bound of package grains

// store puts change into the grains file and into the grains of now. It returns change, or a text when the file is no YAML.
// m.mu is held.
func (m *module) store(change *data.Map, destructive bool) (any, error) {
	path := grains.File(m.env.Opts.Text("conf_file"))
	stored, err := readFile(path)
	var broken *yaml.Error
	switch {
	case errors.As(err, &broken):
		return fmt.Sprintf("Unable to read existing grains file: %s", broken), nil
	case err != nil:
		return nil, loader.Execution("Unable to read grains file at %s: %w", path, err)
	}
	current := m.now().Clone()
	for k, v := range change.All() {
		if v == nil && destructive {
			stored.Delete(k)
			current.Delete(k)
			continue
		}
		stored.Set(k, v)
		current.Set(k, v)
	}
	if err := writeFile(path, stored); err != nil {
		return nil, loader.Execution("Unable to write to grains file at %s: %w", path, err)
	}
	m.changed = current
	return change, nil
}

// readFile returns what the grains file holds; a file that is not there, or holds no dictionary, is empty.
func readFile(path string) (*data.Map, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(src) > maxFile {
		return nil, fmt.Errorf("longer than %d bytes", maxFile)
	}
	v, err := yaml.Load(src, yaml.Options{Name: path})
	if err != nil {
		return nil, err
	}
	if stored, ok := v.(*data.Map); ok {
		return stored, nil
	}
	return data.NewMap(), nil
}

// writeFile replaces the grains file, unless it has these contents already. Its mode stays, and a link stays a link.
func writeFile(path string, stored *data.Map) error {
	text, err := yaml.Dump(stored, yaml.DumpOptions{Flow: yaml.Block, SortKeys: true})
	if err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return atomicfile.Write(path, text, atomicfile.Options{Mode: 0o644, KeepMode: true, Sync: true, Prefix: ".grains-"})
}

// refreshed has the minion collect its grains anew after a change, and returns the change's result.
func (m *module) refreshed(ctx context.Context, result any, err error, pillar any) (any, error) {
	if _, stored := result.(*data.Map); err != nil || !stored {
		return result, err
	}
	m.touch()
	if data.Truth(m.env.Option("local")) {
		return result, nil
	}
	_, err = m.env.Call(ctx, "saltutil.refresh_grains", nil, data.NewMap("refresh_pillar", pillar))
	if loader.KindOf(err) == loader.KindMissing {
		m.env.Log.Warn("The grains file has changed, but nothing here collects the grains anew: saltutil.refresh_grains is missing")
		err = nil
	}
	return result, err
}

// touch leaves the mark by which the minion knows that modules may have changed.
func (m *module) touch() {
	dir := m.env.Opts.Text("cachedir")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, "module_refresh"), nil, 0o644); err != nil {
		m.env.Log.WithError(err).Error("Unable to write to cache file. Check permissions.")
	}
}
