package minion

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/yaml"
)

// cachePillar writes the master's pillar to CACHEDIR/pillar if minion_pillar_cache is on, for use
// with salt-call --local --pillar-root=CACHEDIR/pillar when no master is available. Only the
// minion's user can read it (salt/minion.py, SMinion).
func (m *Minion) cachePillar() error {
	opts := m.settings.saltOptions()
	if opts.Text("file_client") != "remote" || !data.Truth(opts.Value("minion_pillar_cache")) {
		return nil
	}
	env := "base"
	if v := opts.Value("saltenv"); v != nil {
		env = data.Str(v)
	}
	dir := filepath.Join(m.cfg.CacheDir, "pillar")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("minion_pillar_cache: %w", err)
	}
	top := data.NewMap(env, data.NewMap(m.cfg.ID, []any{"cache"}))
	for name, v := range data.NewMap("cache.sls", m.Pillar(), "top.sls", top).All() {
		text, err := yaml.Dump(v, yaml.DumpOptions{Flow: yaml.Leaves, SortKeys: true,
			SortOrdered: true})
		if err == nil {
			err = atomicfile.Write(filepath.Join(dir, data.Str(name)), text,
				atomicfile.Options{Mode: 0o600})
		}
		if err != nil {
			return fmt.Errorf("minion_pillar_cache: %w", err)
		}
	}
	return nil
}
