package saltutil

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/extmods"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/loader/matchers"
	"github.com/brineproject/brine/match"
)

// fetch updates the directory of extension modules from salt://_FORM and returns the names of new
// and changed modules. An error is logged and ends the update.
func (m modules) fetch(ctx context.Context, form string, a syncArgs) ([]any, error) {
	if !m.env.Functions.Has("cp.cache_dir") {
		return []any{}, nil
	}
	envs, err := m.saltenvs(ctx, a.Saltenv)
	if err != nil {
		return nil, err
	}
	done := extmods.Sync(ctx, m.env, extmods.Request{
		Form: form, Envs: envs, CacheDir: cached(m.env), Dir: m.extensionModules(),
		Whitelist: a.ExtmodWhitelist, Blacklist: a.ExtmodBlacklist,
	})
	if done.Touched {
		m.touch("module_refresh")
	}
	m.warnPython(ctx, done.Files)
	if done.Touched {
		m.loadAnew()
	}
	if form == "grains" && data.Truth(m.env.Option("grains_cache")) {
		_ = os.Remove(cached(m.env, "grains.cache.p")) // it is made again
	}
	return done.Names, nil
}

// loadAnew makes the next use of a plug-in of any kind find the fetched files. The event
// module_refresh does so too, but a job that follows at once would come before it.
func (m modules) loadAnew() {
	m.env.Functions.Reload()
	for _, registry := range m.env.Registries {
		registry.Reload()
	}
}

func (m modules) extensionModules() string {
	if dir := m.env.Opts.Text("extension_modules"); dir != "" {
		return dir
	}
	return cached(m.env, "extmods")
}

// warnPython warns about fetched Python modules if they cannot run, since the host has no python3: in
// the log, and in a notice to the user who submitted the job. It warns once for each version of a
// file. The result stays like Salt's, for programs that parse it.
func (m modules) warnPython(ctx context.Context, files []string) {
	if _, err := exec.LookPath("python3"); len(files) == 0 || err == nil {
		return
	}
	text := fmt.Sprintf("These modules are in Python, and this host has no python3: %s. "+
		"They were fetched but are not used. Install Python (Debian: python3-minimal)",
		strings.Join(files, ", "))
	m.env.Log.Warn(text)
	loader.ContextOf(ctx).Notice(text)
}

// touch creates an empty file in the cache that makes Salt's minion reload its modules.
func (m modules) touch(name string) {
	f, err := os.OpenFile(cached(m.env, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		m.env.Log.WithError(err).Errorf("create file %s, which makes Salt reload its modules",
			cached(m.env, name))
	}
}

// saltenvs returns the environments to fetch from: the given ones, or those of the top file, or
// base.
func (m modules) saltenvs(ctx context.Context, asked any) ([]string, error) {
	switch asked := asked.(type) {
	case nil:
		return m.topEnvs(ctx)
	case []any:
		var envs []string
		for _, e := range asked {
			envs = append(envs, data.Str(e))
		}
		return envs, nil
	}
	return strings.Split(data.Str(asked), ","), nil
}

// topEnvsKey is the key of the top file's environments in the context of a job.
const topEnvsKey = "saltutil._top_file_envs"

// topEnvs returns the environments in which the top file has an entry for this minion. A job looks
// them up once.
func (m modules) topEnvs(ctx context.Context) ([]string, error) {
	if known, ok := loader.ContextOf(ctx).Get(topEnvsKey); ok {
		return known.([]string), nil
	}
	envs := []string{"base"}
	if m.env.Functions.Has("state.show_top") {
		// even if states run or the pillar has errors
		aside := data.NewMap("concurrent", true, "force", true)
		top, err := m.env.Call(ctx, "state.show_top", nil, aside)
		if errors.Is(err, match.ErrUnknownType) || errors.Is(err, matchers.ErrFailed) {
			// perhaps one of users' own matchers, which this call may fetch
			m.env.Log.Warnf("Modules are fetched from the environment base only: %v", err)
			top, err = nil, nil
		}
		if err != nil {
			return nil, loader.Execution("Unable to render top file(s): %w", err)
		}
		if trouble, ok := top.([]any); ok && len(trouble) > 0 {
			return nil, loader.Execution("Unable to render top file(s): %s", data.Str(trouble[0]))
		}
		if found, ok := top.(*data.Map); ok && found.Len() > 0 {
			envs = nil
			for k := range found.All() {
				envs = append(envs, data.Str(k))
			}
		}
	}
	loader.ContextOf(ctx).Set(topEnvsKey, envs)
	return envs, nil
}

// listExtmods returns the names of the modules that were fetched from the file server, by kind.
//
// CLI Example:
//
//	salt '*' saltutil.list_extmods
func (m modules) listExtmods(context.Context, loader.NoArgs) (any, error) {
	all, root := data.NewMap(), cached(m.env, "extmods")
	entries, err := os.ReadDir(root)
	if err != nil {
		return all, nil // nothing was ever fetched
	}
	for _, e := range entries {
		if e.IsDir() {
			all.Set(e.Name(), modulesBelow(filepath.Join(root, e.Name())))
		}
	}
	return all, nil
}

// modulesBelow returns the names of the files below a directory up to their first dot, without
// duplicates.
func modulesBelow(dir string) []any {
	names := []any{}
	_ = walk(dir, func(_, _ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if name, _, _ := strings.Cut(d.Name(), "."); !slices.Contains(names, any(name)) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names
}
