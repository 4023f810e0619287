package state

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// explain tells the log what Salt's words of an SLS that there is not leave out: the name that is meant, and directories of file_roots that
// do not exist, where this host has them.
func (r *rendering) explain(ctx context.Context, sls, saltenv string) {
	names, err := r.have.named(ctx, saltenv, "*")
	if err != nil {
		names = nil // Salt's words must do
	}
	var hints []string
	if near := config.Nearest(sls, names); near != "" && len(sls) > 2 {
		hints = append(hints, "is '"+near+"' meant?")
	}
	if err := r.c.noFolders(saltenv); err != nil {
		hints = append(hints, "file_roots: "+strings.ReplaceAll(err.Error(), "\n", "; file_roots: "))
	}
	if hints != nil {
		r.c.env().Log.Warnf("SLS '%s:%s' is not there: %s", saltenv, sls, strings.Join(hints, "; "))
	}
}

// noFolders tells of directories of an environment that do not exist, where files come from this host; nil where there is one.
func (c *Compiler) noFolders(saltenv string) error {
	roots, _ := c.env().Option("file_roots").(*data.Map)
	dirs, _ := roots.Value(saltenv).([]any)
	there := slices.ContainsFunc(dirs, func(dir any) bool { return config.NoFolders(data.NewMap(saltenv, []any{dir})) == nil })
	if there || c.text("file_client") != "local" {
		return nil
	}
	return config.NoFolders(data.NewMap(saltenv, dirs))
}
