//go:build unix

package mount

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// cacheFile returns the path of the file in which the minion records its mounts and their options.
func (m *module) cacheFile() string {
	return filepath.Join(data.Str(m.env.Option("cachedir")), "mounts")
}

// cached returns the recorded mounts by directory.
func (m *module) cached() (*data.Map, error) {
	src, err := os.ReadFile(m.cacheFile())
	if errors.Is(err, fs.ErrNotExist) {
		return &data.Map{}, nil
	}
	if err != nil {
		return nil, loader.OSError(err)
	}
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		return nil, loader.Execution("read the mount cache %s: %w", m.cacheFile(), err)
	}
	all, _ := v.(*data.Map)
	if mounts, ok := all.Value("mounts").(*data.Map); ok {
		return mounts, nil
	}
	return &data.Map{}, nil
}

func (m *module) record(mounts *data.Map) error {
	text, err := yaml.Dump(data.NewMap("mounts", mounts),
		yaml.DumpOptions{Flow: yaml.Block, SortKeys: true})
	if err == nil {
		err = atomicfile.Write(m.cacheFile(), text, atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		m.env.Log.Errorf("Failed to cache mounts: %v", err)
		return loader.Execution("Unable to write mount cache.")
	}
	return nil
}

// readMountCache returns the recorded options for a directory at which the minion mounted
// something.
//
// CLI Example:
//
//	salt '*' mount.read_mount_cache /mnt/share
func (m *module) readMountCache(_ context.Context, a nameArgs) (any, error) {
	mounts, err := m.cached()
	if v, ok := mounts.Get(a.Name); ok {
		return v, err
	}
	return data.NewMap(), err
}

type writeCacheArgs struct {
	RealName                         string
	Device, Mkmnt, Fstype, MountOpts any
}

// writeMountCache records the options with which the minion mounted something at a directory.
//
// CLI Example:
//
//	salt '*' mount.write_mount_cache /mnt/share /dev/sda1 False ext4 defaults,nosuid
func (m *module) writeMountCache(_ context.Context, a writeCacheArgs) (any, error) {
	mounts, err := m.cached()
	if err != nil {
		return nil, err
	}
	mounts.Set(a.RealName, data.NewMap("device", a.Device, "fstype", a.Fstype, "mkmnt", a.Mkmnt,
		"opts", a.MountOpts))
	if err := m.record(mounts); err != nil {
		return nil, err
	}
	return true, nil
}

type realNameArgs struct{ RealName string }

// deleteMountCache removes the record of what the minion mounted at a directory.
//
// CLI Example:
//
//	salt '*' mount.delete_mount_cache /mnt/share
func (m *module) deleteMountCache(_ context.Context, a realNameArgs) (any, error) {
	mounts, err := m.cached()
	if err == nil && mounts.Delete(a.RealName) {
		err = m.record(mounts)
	}
	if err != nil {
		return nil, err
	}
	return true, nil
}
