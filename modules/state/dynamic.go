package state

import (
	"context"
	"io/fs"
	"os"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
)

// loadDynamic fetches the users' own plug-ins from the environments of the matches, unless the
// option autoload_dynamic_modules is off. If anything changed, the rest of the run uses it: grains,
// the pillar and all functions are loaded again (salt/state.py, HighState.load_dynamic). Salt loads
// them again in any case.
func (r *run) loadDynamic(ctx context.Context, matches *data.Map) error {
	if !data.Truth(r.env.Option("autoload_dynamic_modules")) ||
		!r.env.Functions.Has("saltutil.sync_all") {
		return nil
	}
	before := r.dynamicFiles()
	v, err := r.env.Call(ctx, "saltutil.sync_all", []any{matches.Keys()},
		data.NewMap("refresh", false))
	if err != nil {
		return err
	}
	synced, _ := v.(*data.Map)
	if !changed(synced) && slices.Equal(before, r.dynamicFiles()) {
		return nil
	}
	if data.Truth(synced.Value("grains")) {
		if err := r.refreshFacts(ctx); err != nil {
			return err
		}
	}
	r.reloadAll()
	if r.env.Host.Bus != nil || data.Truth(r.env.Option("local")) {
		return nil // this is the minion, or the call leaves it alone
	}
	if err := calls.RefreshModules(ctx, r.env); err != nil {
		r.env.Log.Warnf("refresh the minion's modules: %v", err)
	}
	return nil
}

// changed reports whether saltutil.sync_all fetched something.
func changed(synced *data.Map) bool {
	for _, names := range synced.All() {
		if data.Truth(names) {
			return true
		}
	}
	return false
}

// dynamicFiles returns the paths of the plug-ins that were fetched.
func (r *run) dynamicFiles() []string {
	var files []string
	dir := r.env.Opts.Text("extension_modules")
	if dir == "" {
		return nil
	}
	_ = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return nil // what cannot be read is not there
	})
	return files
}

// refreshFacts collects the grains and compiles the pillar again for the rest of the run.
func (r *run) refreshFacts(ctx context.Context) error {
	if collect := r.env.Host.RefreshGrains; collect != nil {
		if err := collect(ctx); err != nil {
			return err
		}
	}
	over, err := overrideOf(r.kwargs)
	if err == nil {
		r.pillar, err = r.m.freshPillar(ctx, r.highState, over)
	}
	return err
}

// reloadAll makes functions of all kinds be loaded again when they are next used.
func (r *run) reloadAll() {
	r.m.env.Functions.Reload()
	r.env.Functions.Reload()
	for _, registry := range r.env.Registries {
		registry.Reload()
	}
	r.engine.Reload()
}
