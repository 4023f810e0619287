package state

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// hintMissing logs details about a missing SLS that Salt's message leaves out: a similar name, and
// directories of file_roots that do not exist on this host.
func (r *rendering) hintMissing(ctx context.Context, sls, saltenv string) {
	names, err := r.available.matching(ctx, saltenv, "*")
	if err != nil {
		names = nil // Salt's message is enough
	}
	var hints []string
	if near := config.Nearest(sls, names); near != "" && len(sls) > 2 {
		hints = append(hints, "is '"+near+"' meant?")
	}
	if err := r.c.missingRoots(saltenv); err != nil {
		hints = append(hints, "file_roots: "+
			strings.ReplaceAll(err.Error(), "\n", "; file_roots: "))
	}
	if hints != nil {
		r.c.env().Log.Warnf("SLS '%s:%s' not found: %s", saltenv, sls, strings.Join(hints, "; "))
	}
}

// missingRoots returns an error that lists the missing directories of an environment. It returns
// nil if at least one exists, or if files do not come from this host.
func (c *Compiler) missingRoots(saltenv string) error {
	roots, _ := c.env().Option("file_roots").(*data.Map)
	dirs, _ := roots.Value(saltenv).([]any)
	there := slices.ContainsFunc(dirs,
		func(dir any) bool { return config.NoFolders(data.NewMap(saltenv, []any{dir})) == nil })
	if there || c.text("file_client") != "local" {
		return nil
	}
	return config.NoFolders(data.NewMap(saltenv, dirs))
}
