package mysql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// A target is where a result is stored: in a grain, under a key of a grain, in a file or, without
// an output, nowhere.
type target struct {
	Output    any `default:"None"`
	Grain     any `default:"None"`
	Key       any `default:"None"`
	Overwrite any `default:"True"`
}

// stays reports whether an existing result is to be kept.
func (t target) stays() bool { return !data.Truth(t.Overwrite) }

func (t target) inGrain() bool { return t.Output == "grain" }

// nameless reports whether the output is a grain but has no name.
func (t target) nameless() bool { return t.inGrain() && t.Grain == nil }

// place returns the grain and its key, or the path.
func (t target) place() string {
	switch {
	case !t.inGrain():
		return data.Str(t.Output)
	case t.Key == nil:
		return data.Str(t.Grain)
	}
	return data.Str(t.Grain) + ":" + data.Str(t.Key)
}

// title returns the beginning of a sentence about the target.
func (t target) title() string {
	if t.inGrain() {
		return "Grain " + t.place()
	}
	return "File " + t.place()
}

// plan describes what would be done with the result.
func (t target) plan() string {
	switch {
	case t.Output == nil:
		return "not storing result"
	case t.inGrain():
		return "storing result in grain: " + t.place()
	}
	return "storing result in file: " + t.place()
}

// into describes where the result was stored.
func (t target) into() string {
	switch {
	case t.Output == nil:
		return ""
	case t.inGrain():
		return ". Output into grain: " + t.place()
	}
	return ". Output into " + t.place()
}

// has reports whether the target has a result. It returns an error if that cannot be determined, or
// if the grain cannot have keys. A file that is going to be overwritten is not checked.
func (m *module) has(ctx context.Context, t target) (bool, error) {
	switch {
	case t.Output == nil:
		return false, nil
	case !t.inGrain():
		info, err := os.Stat(m.path(t))
		if !t.stays() || errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil && info.Mode().IsRegular(), err
	case t.Key == nil:
		return m.hasGrain(ctx, t.Grain)
	}
	now, err := m.keys(ctx, t)
	return now.Has(t.Key), err
}

func (m *module) hasGrain(ctx context.Context, name any) (bool, error) {
	list, err := loader.CallAs[[]any](ctx, m.env, "grains.ls", nil, nil)
	return slices.Contains(list, name), err
}

// keys returns a copy of the grain's dictionary, or an empty one if there is no such grain.
func (m *module) keys(ctx context.Context, t target) (*data.Map, error) {
	there, err := m.hasGrain(ctx, t.Grain)
	if err != nil || !there {
		return data.NewMap(), err
	}
	v, err := calls.GrainsGet[any](ctx, m.env, t.Grain)
	if err != nil {
		return nil, err
	}
	now, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("the grain %s is not a dictionary: it cannot have the key %s",
			data.Str(t.Grain), data.Str(t.Key))
	}
	return now.Clone(), nil
}

// store stores a result in its target.
func (m *module) store(ctx context.Context, t target, r result) error {
	switch {
	case t.Output == nil:
		return nil
	case !t.inGrain():
		return m.writeFile(m.path(t), []byte(r.lines()))
	}
	var value any = r.ordered()
	if t.Key != nil {
		now, err := m.keys(ctx, t)
		if err != nil {
			return err
		}
		now.Set(t.Key, value)
		value = now
	}
	return calls.GrainsSetVal(ctx, m.env, t.Grain, value)
}

// path returns the path of the file, following a link.
func (m *module) path(t target) string {
	path := filepath.Join(m.env.Root, data.Str(t.Output))
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// writeFile writes a file. An existing file keeps its properties. Devices and pipes are written to.
func (m *module) writeFile(path string, content []byte) error {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		return loader.OSError(atomicfile.Write(path, content,
			atomicfile.Options{Mode: 0o644, Keep: true}))
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return loader.OSError(err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
