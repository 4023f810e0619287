package pillar

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// states renders the SLS of a minion over pillar= of the command line, which decrypt_pillar defers
// (Pillar.render_pillar).
func (w *compilation) states(ctx context.Context, matches []assignment) *data.Map {
	pillar := w.below
	marked := strategyOf(w.strategy(), w.opts.Text("renderer")) == "aggregate"
	if marked {
		ctx = render.WithMarks(ctx)
	}
	for _, a := range matches {
		r := &rendering{compilation: w, env: a.env, done: map[string]any{}}
		for _, name := range r.expand(a.names) {
			if got, ok := r.sls(ctx, name, nil).(*data.Map); ok {
				pillar = w.merge(pillar, got)
			}
		}
	}
	if marked {
		yaml.Plain(pillar)
	}
	return pillar
}

// A rendering is the state of one environment.
type rendering struct {
	*compilation
	env  string
	done map[string]any // result of each SLS, without its includes
}

// expand replaces globs by the matching names; a name that matches nothing stays.
func (r *rendering) expand(patterns []string) []string {
	if _, ok := r.available[r.env]; !ok {
		for range patterns {
			r.noEnvironment()
		}
		return patterns
	}
	var names []string
	for _, pattern := range patterns {
		found := r.filter(pattern)
		if len(found) == 0 {
			found = []string{pattern}
		}
		names = append(names, found...)
	}
	return names
}

func (r *rendering) noEnvironment() {
	r.fail(fmt.Sprintf("No matching pillar environment for environment '%s' found", r.env))
}

func (r *rendering) filter(pattern string) []string {
	var found []string
	g := match.CompileGlob(pattern)
	for _, name := range r.available[r.env] {
		if g.Match(name) {
			found = append(found, name)
		}
	}
	return found
}

// sls renders one SLS with its includes; nil if the result is empty (Pillar.render_pstate).
func (r *rendering) sls(ctx context.Context, name string, defaults *data.Map) any {
	file, err := find(ctx, r.files, name, r.env)
	if err != nil {
		r.failRender(name, err)
		return nil
	}
	if file == nil && r.missing(name) {
		return nil
	}
	state := r.render(ctx, name, file, defaults)
	r.done[name] = state
	m, ok := state.(*data.Map)
	if !ok {
		if data.Truth(state) {
			r.fail(fmt.Sprintf("SLS '%s' does not render to a dictionary", name))
		}
		return nil
	}
	return r.included(ctx, &source{name: name, init: file != nil && file.init, defaults: defaults},
		m)
}

// missing reports a missing SLS, and returns whether it is ignored completely.
func (r *rendering) missing(name string) bool {
	for _, ignored := range r.ignored[r.env] {
		if ignored == name {
			r.Log.Debugf("Skipping ignored and missing SLS '%s' in environment '%s'", name, r.env)
			return true
		}
	}
	for _, env := range r.files.Envs() {
		if env == r.env {
			r.fail(fmt.Sprintf("Specified SLS '%s' in environment '%s' is not available on the salt master", name, r.env))
			return false
		}
	}
	r.Log.Debugf("Specified SLS '%s' in environment '%s' was not found. Is the environment in pillar_roots?", name, r.env)
	return true
}

func (r *rendering) render(ctx context.Context, name string, file *sls, defaults *data.Map) any {
	if file == nil {
		return data.NewMap()
	}
	if ctx.Err() != nil {
		return nil // the compilation was cancelled
	}
	begin := time.Now()
	state, err := r.engine.Render(ctx,
		render.Input{Text: file.text, Path: file.path, SaltEnv: r.env, SLS: name,
			Vars: variables(defaults)})
	r.timed("SLS", name, begin)
	if err != nil {
		r.failRender(name, err)
		return nil
	}
	return state
}

// failRender logs why an SLS does not render; the minion sees the reason only if that is allowed.
// Lines of the SLS, which may hold secrets, are only logged at the level debug.
func (r *rendering) failRender(name string, err error) {
	whole := fmt.Sprintf("Rendering SLS '%s' failed, render error:\n%s", name, err)
	r.Log.Errorf("Rendering SLS '%s' failed, render error: %s", name, render.Brief(err))
	r.Log.Debug(whole)
	if safe, set := r.opts.Get("pillar_safe_render_error"); !set || data.Truth(safe) {
		whole = fmt.Sprintf("Rendering SLS '%s' failed. Please see master log for details.", name)
	}
	r.errors = append(r.errors, whole)
}

func variables(defaults *data.Map) map[string]any {
	vars := map[string]any{}
	for k, v := range defaults.All() {
		vars[data.Str(k)] = v
	}
	return vars
}

// A source is an SLS that includes others.
type source struct {
	name     string
	init     bool
	defaults *data.Map // as in Salt, those of the last include also apply to the following ones
}

// included returns the result of an SLS merged over its includes, or below them with
// pillar_includes_override_sls.
func (r *rendering) included(ctx context.Context, s *source, state *data.Map) *data.Map {
	includes, has := state.Get("include")
	if !has {
		return state
	}
	list, ok := includes.([]any)
	if !ok {
		r.fail(fmt.Sprintf("Include Declaration in SLS '%s' is not formed as a list", s.name))
		return state
	}
	state.Delete("include")
	var parts []*data.Map
	for _, entry := range list {
		parts = append(parts, r.include(ctx, s, entry)...)
	}
	if data.Truth(r.opts.Value("pillar_includes_override_sls")) {
		parts = append([]*data.Map{state}, parts...)
	} else {
		parts = append(parts, state)
	}
	whole := parts[0]
	for _, part := range parts[1:] {
		whole = r.merge(whole, part)
	}
	return whole
}

// include returns the results of one entry of a list of includes.
func (r *rendering) include(ctx context.Context, s *source, entry any) []*data.Map {
	key := ""
	if m, ok := entry.(*data.Map); ok && m.Len() > 0 {
		first, value := m.At(0)
		settings, _ := value.(*data.Map)
		s.defaults, _ = settings.Value("defaults").(*data.Map)
		if k := settings.Value("key"); data.Truth(k) {
			key = data.Str(k)
		}
		entry = first
	}
	var parts []*data.Map
	for _, name := range r.includeNames(s, data.Str(entry)) {
		got, ok := r.done[name]
		if !ok {
			got = r.sls(ctx, name, s.defaults)
		}
		if m, isMap := got.(*data.Map); isMap && m.Len() > 0 {
			parts = append(parts, nest(m, key))
		}
	}
	return parts
}

// includeNames returns the SLS that an include names: a relative one begins with a dot, and globs
// are allowed. As in Salt a match counts twice, the second time without its own includes.
func (r *rendering) includeNames(s *source, include string) []string {
	if _, ok := r.available[r.env]; !ok {
		r.noEnvironment()
		return []string{include}
	}
	names := r.filter(strings.ReplaceAll(strings.TrimLeft(include, "."), "/", "."))
	if rest, relative := strings.CutPrefix(include, "."); relative {
		folder := s.name
		if !s.init {
			folder = folder[:max(0, strings.LastIndexByte(folder, '.'))]
		}
		include = strings.TrimPrefix(folder+"."+rest, ".")
	}
	names = append(names, r.filter(include)...)
	if len(names) == 0 {
		return []string{include}
	}
	return names
}

// nest puts a map under a key of the form x:y.
func nest(m *data.Map, key string) *data.Map {
	if key == "" {
		return m
	}
	for {
		i := strings.LastIndexByte(key, ':')
		m = data.NewMap(key[i+1:], m)
		if i < 0 {
			return m
		}
		key = key[:i]
	}
}
