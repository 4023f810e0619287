// Package extmods copies users' own plug-ins from the file server to the directory that the option
// extension_modules names (salt/utils/extmods.py, sync).
package extmods

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
	"github.com/brineproject/brine/program"
)

// A Request selects the plug-ins to copy.
type Request struct {
	Form     string   // the kind, as in the directories salt://_FORM and extension_modules/FORM
	Envs     []string // environments of the file server
	CacheDir string   // files of the file server are cached below it
	Dir      string   // the option extension_modules

	// The plug-ins to copy alone and those to leave out: a text of names with commas, or a
	// dictionary of names by form. nil stands for the options of these names.
	Whitelist, Blacklist any
}

// A Result says what a copy has changed.
type Result struct {
	Names   []any    // new or changed plug-ins: FORM.NAME
	Files   []string // the URLs of those in Python on the file server
	Touched bool     // something was copied or removed
}

// Sync copies the plug-ins of a request, and removes those that are no longer on the file server
// unless clean_dynamic_modules is off. Functions of env fetch the files: without cp.cache_dir nothing
// is copied and nothing removed. An error is logged and ends the copying; the result has what was
// copied before.
func Sync(ctx context.Context, env *loader.Env, r Request) Result {
	f := &fetcher{
		env: env, request: r, dir: filepath.Join(r.Dir, r.Form), remote: map[string]bool{},
		allowed: filter(env, "extmod_whitelist", r.Whitelist, r.Form),
		denied:  filter(env, "extmod_blacklist", r.Blacklist, r.Form),
		result:  Result{Names: []any{}},
	}
	if !env.Functions.Has("cp.cache_dir") {
		return f.result
	}
	if err := f.run(ctx); err != nil {
		env.Log.Errorf("Failed to sync %s module: %v", r.Form, err)
	}
	return f.result
}

// filter returns a function that looks up a plug-in in a list of a form: that of the argument, or of
// the option. ok is false if there is no such list.
func filter(env *loader.Env, option string, arg any, form string) func(name string) (listed, ok bool) {
	if arg == nil {
		arg = env.Option(option)
	} else if text, ok := arg.(string); ok {
		arg = data.NewMap(form, text)
	} else if _, ok := arg.(*data.Map); !ok {
		env.Log.Errorf("%s must be a string or dictionary: %s", option, data.Str(arg))
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

// A fetcher updates one directory of plug-ins.
type fetcher struct {
	env             *loader.Env
	request         Request
	dir             string
	allowed, denied func(name string) (listed, ok bool)

	remote map[string]bool // files on the file server
	result Result
}

func (f *fetcher) run(ctx context.Context) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	for _, env := range f.request.Envs {
		if err := f.fetchEnv(ctx, env); err != nil {
			return err
		}
	}
	f.result.Touched = len(f.result.Names) > 0
	if clean, ok := f.env.Opts.Get("clean_dynamic_modules"); !ok || clean == true {
		return f.clean()
	}
	return nil
}

// fetchEnv copies the plug-ins of one environment from the cache of files. Besides Salt's plug-ins in
// Python those are programs, whose names have no suffix.
func (f *fetcher) fetchEnv(ctx context.Context, env string) error {
	form := f.request.Form
	f.env.Log.Infof("Syncing %s for environment '%s'", form, env)
	paths, err := loader.CallAs[[]any](ctx, f.env, "cp.cache_dir", []any{"salt://_" + form, env},
		data.NewMap("include_empty", false, "include_pat", `E@(\.(pyx?|so|zip)|(^|/)[^./]+)$`))
	if err != nil {
		return err
	}
	for _, p := range paths {
		rel, err := filepath.Rel(filepath.Join(f.request.CacheDir, "files", env, "_"+form), data.Str(p))
		if err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("file %s lies outside of the cache of environment %s", data.Str(p), env)
		}
		name := strings.ReplaceAll(strings.TrimSuffix(rel, filepath.Ext(rel)),
			string(filepath.Separator), ".")
		isProgram := filepath.Ext(rel) == ""
		if !f.wanted(name) || isProgram && !program.Is(data.Str(p), filepath.Base(rel)) {
			continue
		}
		f.remote[rel] = true
		changed, err := copyChanged(data.Str(p), filepath.Join(f.dir, rel))
		if err != nil {
			return err
		}
		if changed {
			f.result.Names = append(f.result.Names, form+"."+name)
			if !isProgram {
				f.result.Files = append(f.result.Files, "salt://_"+path.Join(form, filepath.ToSlash(rel)))
			}
		}
	}
	return nil
}

func (f *fetcher) wanted(name string) bool {
	allowed, only := f.allowed(name)
	denied, _ := f.denied(name)
	return (allowed || !only) && !denied
}

// copyChanged copies the file from to the file to, and reports whether they differed.
func copyChanged(from, to string) (bool, error) {
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

// clean removes plug-ins that are no longer on the file server, and empty directories.
func (f *fetcher) clean() error {
	root, err := filepath.EvalSymlinks(f.dir) // links below it are not followed
	if err != nil {
		return err
	}
	var dirs []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
		f.result.Touched = true
		return os.Remove(path)
	})
	for _, dir := range slices.Backward(dirs) {
		if os.Remove(dir) == nil { // fails unless it is empty
			f.result.Touched = true
		}
	}
	return err
}
