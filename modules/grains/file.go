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
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/yaml"
)

const maxFile = 8 << 20 // the limit of package grains

// store applies change to the grains file and to the current grains. It returns change, or an error
// text if the file is not valid YAML. The caller holds m.mu.
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

// readFile returns the content of the grains file; a file that is missing, or is not a dictionary,
// counts as empty.
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

// writeFile replaces the grains file, unless its content is already equal. It keeps the mode of the
// file and follows a link.
func writeFile(path string, stored *data.Map) error {
	text, err := yaml.Dump(stored, yaml.DumpOptions{Flow: yaml.Block, SortKeys: true})
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return atomicfile.Write(path, text,
		atomicfile.Options{Follow: true, Mode: 0o644, KeepMode: true, Sync: true, Prefix: ".grains-"})
}

// refreshed refreshes the minion's grains after a change, and returns the result of the change.
func (m *module) refreshed(ctx context.Context, result any, err error, pillar any) (any, error) {
	if _, stored := result.(*data.Map); err != nil || !stored {
		return result, err
	}
	m.touch()
	if data.Truth(m.env.Option("local")) {
		return result, nil
	}
	err = calls.RefreshGrains(ctx, m.env, pillar)
	if loader.KindOf(err) == loader.KindMissing {
		m.env.Log.Warn("The grains file has changed, but the grains were not refreshed: saltutil.refresh_grains is missing")
		err = nil
	}
	return result, err
}

// touch creates the marker file that tells the minion that modules may have changed.
func (m *module) touch() {
	dir := m.env.Opts.Text("cachedir")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, "module_refresh"), nil, 0o644); err != nil {
		m.env.Log.WithError(err).Error("Unable to write to cache file. Check permissions.")
	}
}
