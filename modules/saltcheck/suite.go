package saltcheck

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// A suite finds and loads the tests of states (class StateTestLoader of Salt).
type suite struct {
	env      *loader.Env
	saltenv  string
	location string // directory of tests, relative to the SLS
	all      bool   // load all files of a directory, not only those of the state

	states []string        // all states of the environment
	found  []string        // states whose files were fetched, in order
	files  map[string]bool // paths of the files to load
}

func newSuite(ctx context.Context, env *loader.Env, saltenv string, all bool) (*suite, error) {
	location, err := calls.ConfigGet[any](ctx, env, "saltcheck_test_location", "saltcheck-tests")
	if err != nil {
		return nil, err
	}
	states, err := loader.CallAs[[]string](ctx, env, "cp.list_states", nil,
		data.NewMap("saltenv", saltenv))
	if err != nil {
		return nil, err
	}
	return &suite{env: env, saltenv: saltenv, location: data.Str(location), all: all,
		states: states, files: map[string]bool{}}, nil
}

// tested reports whether files of tests were found for a state.
func (s *suite) tested(state string) bool { return slices.Contains(s.found, state) }

// find fetches the files of tests for an SLS and the SLS that it includes, and selects those to
// load. A name that is no SLS is the name of a file of tests.
func (s *suite) find(ctx context.Context, name string) error {
	chunks := []any{data.NewMap("__sls__", name)}
	if slices.Contains(s.states, name) {
		v, err := s.env.Call(ctx, "state.show_low_sls", []any{name},
			data.NewMap("saltenv", s.saltenv, "test", true))
		if err != nil {
			return err
		}
		if chunks, err = loader.Elements(v); err != nil {
			return err
		}
	}
	var fetched []string
	for _, v := range chunks {
		chunk, ok := v.(*data.Map)
		if !ok {
			s.env.Log.Errorf("saltcheck: the SLS %s cannot be compiled: %s", name, data.Str(v))
			return nil
		}
		sls, ok := chunk.Value("__sls__").(string)
		if !ok {
			continue
		}
		files, err := s.fetch(ctx, sls)
		if err != nil {
			return err
		}
		fetched = append(fetched, files...)
		s.choose(sls, fetched)
	}
	return nil
}

// fetch copies the files of tests for an SLS into the cache and returns their paths.
func (s *suite) fetch(ctx context.Context, sls string) ([]string, error) {
	var fetched []string
	for _, dir := range s.directories(sls) {
		if s.tested(sls) {
			break
		}
		files, err := loader.CallAs[[]string](ctx, s.env, "cp.cache_dir", []any{"salt://" + dir},
			data.NewMap("saltenv", s.saltenv, "include_pat", "*.tst"))
		if err != nil {
			return nil, err
		}
		if len(files) > 0 && !s.all {
			s.found = append(s.found, sls)
		}
		fetched = append(fetched, files...)
	}
	return fetched, nil
}

// directories returns the directories in which tests of an SLS can be, longest first
// (StateTestLoader._generate_sls_path). As in Salt, tests at the top of the tree are not found.
func (s *suite) directories(sls string) []string {
	parts := strings.Split(sls, ".")
	dirs := []string{path.Join(path.Join(parts...), s.location), path.Join(parts[0], s.location)}
	if len(parts) > 1 {
		dirs = append(dirs, path.Join(path.Join(parts[:len(parts)-1]...), s.location))
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(dirs)
}

// choose selects those of the fetched files that belong to an SLS, or all files.
func (s *suite) choose(sls string, fetched []string) {
	parts := strings.Split(sls, ".")
	last := len(parts) - 1
	above, file := path.Join(parts[:last]...), parts[last]+".tst"
	between := path.Join(parts[min(1, last):last]...)
	names := []string{
		path.Join(path.Join(parts...), s.location, "init.tst"),
		path.Join(above, s.location, file),
		path.Join(parts[0], s.location, between, file),
	}
	for _, f := range fetched {
		if s.all || slices.ContainsFunc(names,
			func(name string) bool { return strings.HasSuffix(f, "/"+name) }) {
			s.files[f] = true
		}
	}
}

// load renders the selected files and returns their tests by name. The next call starts anew.
func (s *suite) load(ctx context.Context) (*data.Map, error) {
	tests := data.NewMap()
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		v, err := s.env.Call(ctx, "slsutil.renderer", []any{file},
			data.NewMap("saltenv", s.saltenv))
		if err != nil {
			return nil, err
		}
		content, err := throughJSON(v)
		if err != nil {
			return nil, loader.Execution("read the tests of %s: %w", file, err)
		}
		of, ok := content.(*data.Map)
		if !ok {
			return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'items'",
				loader.TypeName(content))
		}
		tests.Update(of)
	}
	clear(s.files)
	return tests, nil
}

// throughJSON returns v as Salt sees it after it has written and read it as JSON: keys are texts,
// and dictionaries are OrderedDicts.
func throughJSON(v any) (any, error) {
	text, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		return nil, err
	}
	if v, err = pyjson.Load(string(text)); err != nil {
		return nil, err
	}
	return ordered(v), nil
}

func ordered(v any) any {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			ordered(e)
		}
	case *data.Map:
		v.SetOrdered()
		for _, e := range v.All() {
			ordered(e)
		}
	}
	return v
}
