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

// cacheFile is where the minion notes with which options it mounted what.
func (m *module) cacheFile() string {
	return filepath.Join(data.Str(m.env.Option("cachedir")), "mounts")
}

// cached returns the notes by directory.
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
		return nil, loader.Execution("read what was mounted from %s: %w", m.cacheFile(), err)
	}
	all, _ := v.(*data.Map)
	if mounts, ok := all.Value("mounts").(*data.Map); ok {
		return mounts, nil
	}
	return &data.Map{}, nil
}

func (m *module) note(mounts *data.Map) error {
	text, err := yaml.Dump(data.NewMap("mounts", mounts), yaml.DumpOptions{Flow: yaml.Block, SortKeys: true})
	if err == nil {
		err = atomicfile.Write(m.cacheFile(), text, atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		m.env.Log.Errorf("Failed to cache mounts: %v", err)
		return loader.Execution("Unable to write mount cache.")
	}
	return nil
}

// readMountCache returns with which options the minion mounted something at a directory.
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

// writeMountCache notes with which options the minion mounted something at a directory.
//
// CLI Example:
//
//	salt '*' mount.write_mount_cache /mnt/share /dev/sda1 False ext4 defaults,nosuid
func (m *module) writeMountCache(_ context.Context, a writeCacheArgs) (any, error) {
	mounts, err := m.cached()
	if err != nil {
		return nil, err
	}
	mounts.Set(a.RealName, data.NewMap("device", a.Device, "fstype", a.Fstype, "mkmnt", a.Mkmnt, "opts", a.MountOpts))
	if err := m.note(mounts); err != nil {
		return nil, err
	}
	return true, nil
}

type realNameArgs struct{ RealName string }

// deleteMountCache forgets what the minion mounted at a directory.
//
// CLI Example:
//
//	salt '*' mount.delete_mount_cache /mnt/share
func (m *module) deleteMountCache(_ context.Context, a realNameArgs) (any, error) {
	mounts, err := m.cached()
	if err == nil && mounts.Delete(a.RealName) {
		err = m.note(mounts)
	}
	if err != nil {
		return nil, err
	}
	return true, nil
}
