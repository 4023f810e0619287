package minion

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/yaml"
)

// cachePillar leaves the pillar that a master gave in CACHEDIR/pillar, where the option minion_pillar_cache says so: for salt-call --local
// --pillar-root=CACHEDIR/pillar while there is no master. It is for the minion's user alone (salt/minion.py, SMinion).
func (m *Minion) cachePillar() error {
	opts := m.settings.all()
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
		text, err := yaml.Dump(v, yaml.DumpOptions{Flow: yaml.Leaves, SortKeys: true, SortOrdered: true})
		if err == nil {
			err = atomicfile.Write(filepath.Join(dir, data.Str(name)), text, atomicfile.Options{Mode: 0o600})
		}
		if err != nil {
			return fmt.Errorf("minion_pillar_cache: %w", err)
		}
	}
	return nil
}
