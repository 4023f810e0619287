package saltutil

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
)

// fetch brings the directory of extension modules up to date with salt://_FORM and returns the names of the modules that are new or
// changed (salt/utils/extmods.py, sync). Trouble is logged and ends it early. Without a file client, which is the module cp,
// nothing is fetched and nothing removed.
func (m *module) fetch(ctx context.Context, form string, a syncArgs) ([]any, error) {
	names := []any{}
	if !m.env.Functions.Has("cp.cache_dir") {
		return names, nil
	}
	envs, err := m.saltenvs(ctx, a.Saltenv)
	if err != nil {
		return nil, err
	}
	f := &fetcher{m: m, form: form, dir: filepath.Join(m.extensionModules(), form), names: names,
		allowed: m.filter("extmod_whitelist", a.ExtmodWhitelist, form), denied: m.filter("extmod_blacklist", a.ExtmodBlacklist, form)}
	if err := f.run(ctx, envs); err != nil {
		m.env.Log.Errorf("Failed to sync %s module: %v", form, err)
	} else if f.touched {
		m.touch("module_refresh")
	}
	m.tellPython(ctx, f)
	if form == "grains" && data.Truth(m.env.Option("grains_cache")) {
		_ = os.Remove(m.cached("grains.cache.p")) // which is made anew
	}
	return f.names, nil
}

func (m *module) extensionModules() string {
	if dir := m.env.Opts.Text("extension_modules"); dir != "" {
		return dir
	}
	return m.cached("extmods")
}

// tellPython says once of each version of a file that what it holds does not run here: in the log, and to whoever ordered the job. The
// result stays what Salt's is, for programs that read it.
func (m *module) tellPython(ctx context.Context, f *fetcher) {
	if len(f.changed) == 0 {
		return
	}
	text := fmt.Sprintf("These modules are in Python, which this minion does not run: %s. They were fetched, and nothing else comes of them. "+
		"Call such programs by cmd.script or cmd.run, or keep a minion of Salt's own on hosts that need them", strings.Join(f.changed, ", "))
	m.env.Log.Warn(text)
	loader.ContextOf(ctx).Notice(text)
}

// touch makes an empty file in the cache by which Salt's minion loads its modules anew.
func (m *module) touch(name string) {
	f, err := os.OpenFile(m.cached(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		m.env.Log.WithError(err).Errorf("the file %s, which has modules loaded anew, cannot be made", m.cached(name))
	}
}

// saltenvs returns the environments to fetch from: those that are asked for, those of the top file, or base.
func (m *module) saltenvs(ctx context.Context, asked any) ([]string, error) {
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

// topEnvsKey is where a job keeps the environments of the top file.
const topEnvsKey = "saltutil._top_file_envs"

// topEnvs returns the environments in which the top file names something for this minion. A job asks for them once.
func (m *module) topEnvs(ctx context.Context) ([]string, error) {
	if known, ok := loader.ContextOf(ctx).Get(topEnvsKey); ok {
		return known.([]string), nil
	}
	envs := []string{"base"}
	if m.env.Functions.Has("state.show_top") {
		aside := data.NewMap("concurrent", true, "force", true) // whatever states run, and what is wrong with the pillar
		top, err := m.env.Call(ctx, "state.show_top", nil, aside)
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

// filter returns the modules of a form that a list names, and whether there is such a list: the argument, or else the option.
func (m *module) filter(option string, arg any, form string) func(name string) (listed, ok bool) {
	if arg == nil {
		arg = m.env.Option(option)
	} else if text, ok := arg.(string); ok {
		arg = data.NewMap(form, text)
	} else if _, ok := arg.(*data.Map); !ok {
		m.env.Log.Errorf("%s must be a string or dictionary: %s", option, data.Str(arg))
	}
	byForm, _ := arg.(*data.Map)
	list, ok := byForm.Get(form)
	var names []string
	switch list := list.(type) {
	case string:
		names = strings.Split(list, ",")
	case []any:
		for _, v := range list {
			names = append(names, data.Str(v))
		}
	}
	return func(name string) (bool, bool) { return slices.Contains(names, name), ok }
}

// A fetcher brings one directory of extension modules up to date.
type fetcher struct {
	m               *module
	form            string
	dir             string
	allowed, denied func(name string) (listed, ok bool)

	names   []any           // modules that are new or changed
	changed []string        // their files
	remote  map[string]bool // files that are on the file server
	touched bool
}

func (f *fetcher) run(ctx context.Context, envs []string) error {
	f.remote = map[string]bool{}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	for _, env := range envs {
		if err := f.fetchEnv(ctx, env); err != nil {
			return err
		}
	}
	f.touched = len(f.names) > 0
	if clean, ok := f.m.env.Opts.Get("clean_dynamic_modules"); !ok || clean == true {
		return f.clean()
	}
	return nil
}

// fetchEnv copies the modules of one environment from the cache of files.
func (f *fetcher) fetchEnv(ctx context.Context, env string) error {
	f.m.env.Log.Infof("Syncing %s for environment '%s'", f.form, env)
	cached, err := f.m.env.Call(ctx, "cp.cache_dir", []any{"salt://_" + f.form, env},
		data.NewMap("include_empty", false, "include_pat", `E@\.(pyx?|so|zip)$`))
	if err != nil {
		return err
	}
	paths, _ := cached.([]any)
	for _, p := range paths {
		rel, err := filepath.Rel(f.m.cached("files", env, "_"+f.form), data.Str(p))
		if err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("file %s lies outside of the cache of environment %s", data.Str(p), env)
		}
		name := strings.ReplaceAll(strings.TrimSuffix(rel, filepath.Ext(rel)), string(filepath.Separator), ".")
		if !f.wanted(name) {
			continue
		}
		f.remote[rel] = true
		changed, err := update(data.Str(p), filepath.Join(f.dir, rel))
		if err != nil {
			return err
		}
		if changed {
			f.names = append(f.names, f.form+"."+name)
			f.changed = append(f.changed, "salt://_"+path.Join(f.form, filepath.ToSlash(rel)))
		}
	}
	return nil
}

func (f *fetcher) wanted(name string) bool {
	allowed, only := f.allowed(name)
	denied, _ := f.denied(name)
	return (allowed || !only) && !denied
}

// update makes the file to equal the file from, and reports whether it was not.
func update(from, to string) (bool, error) {
	body, err := os.ReadFile(from)
	if err != nil {
		return false, err
	}
	if have, err := os.ReadFile(to); err == nil && bytes.Equal(have, body) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return false, err
	}
	if err := atomicfile.Write(to, body, atomicfile.Options{Prefix: ".sync"}); err != nil {
		return false, err
	}
	return true, nil
}

// clean removes the modules that the file server has no more, and the directories that are empty.
func (f *fetcher) clean() error {
	var dirs []string
	err := walk(f.dir, func(root, path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			dirs = append(dirs, path)
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || f.remote[rel] {
			return err
		}
		f.touched = true
		return os.Remove(path)
	})
	for _, dir := range slices.Backward(dirs) {
		if os.Remove(dir) == nil { // fails while something is in it
			f.touched = true
		}
	}
	return err
}

// listExtmods returns by kind the names of the modules that were fetched from the file server.
//
// CLI Example:
//
//	salt '*' saltutil.list_extmods
func (m *module) listExtmods(context.Context, loader.NoArgs) (any, error) {
	all, root := data.NewMap(), m.cached("extmods")
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

// modulesBelow returns the names of the files below a directory up to their first dot, each once.
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
