package saltjinja

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/render"
)

// A state is the state of one rendering; filters, tags and the loader find it in the context.
type state struct {
	step  *render.Step
	vars  map[string]any          // variables of the template
	found map[string]jinja.Source // imported templates, by the requested name
	paths map[string]string       // of these, on this host
	// tpldir, tplfile and tpldot of the template that was loaded last
	place  map[string]any
	pillar *data.Map // the template's copy, once it was requested
}

type stateKey struct{}

func stateOf(ctx context.Context) *state { return ctx.Value(stateKey{}).(*state) }

func (st *state) option(name string) any { return st.step.Engine.Env().Option(name) }

func (st *state) warn(format string, args ...any) {
	if log := st.step.Engine.Env().Log; log != nil {
		log.Warnf(format, args...)
	}
}

func newState(s *render.Step) *state {
	st := &state{
		step: s, found: map[string]jinja.Source{}, paths: map[string]string{},
		place: map[string]any{},
	}
	env := s.Engine.Env()
	st.vars = map[string]any{
		"salt": aliasedLoader{env}, "opts": env.Opts, "saltenv": s.SaltEnv, "proxy": data.NewMap(),
		"grains": once(func() any { return jinja.Import(env.GrainsNow()) }),
		"pillar": once(st.importPillar),
	}
	if !s.File {
		st.vars["sls"] = s.SLS
	}
	for name, v := range s.Vars {
		st.vars[name] = v
	}
	if sls, ok := st.vars["sls"].(string); ok {
		for name, v := range slsContext(s.Path, sls) {
			st.vars[name] = v
		}
	}
	for _, name := range []string{"tpldir", "tplfile", "tpldot"} {
		if v, ok := st.vars[name]; ok {
			st.place[name] = v
		}
	}
	return st
}

// once returns a value that is computed when it is first requested.
func once(get func() any) jinja.Lazy {
	var v any
	done := false
	return func() (any, bool) {
		if !done {
			v, done = get(), true
		}
		return v, true
	}
}

func (st *state) importPillar() any {
	v := jinja.Import(st.step.Engine.Env().PillarNow())
	st.pillar, _ = v.(*data.Map)
	return v
}

// dictName returns the type of a dict for messages: Salt wraps the pillar, and has its own class
// for Ordered dicts.
func (st *state) dictName(m *data.Map) string {
	switch {
	case m != nil && m == st.pillar:
		return "salt.utils.context.NamespacedDictWrapper"
	case m.Ordered():
		return "salt.utils.odict.OrderedDict"
	}
	return ""
}

// names returns the variables of the template, and those of templates that it imports without
// context. Both are the same except for the place, which is that of the template loaded last.
func (st *state) names() (names, globals map[string]any) {
	globals = make(map[string]any, len(st.vars)+3)
	for name, v := range st.vars {
		globals[name] = v
	}
	for _, name := range []string{"tpldir", "tplfile", "tpldot"} {
		if v, ok := st.vars[name]; ok {
			if names == nil {
				names = map[string]any{}
			}
			names[name] = v
		}
		globals[name] = jinja.Lazy(func() (any, bool) {
			v, ok := st.place[name]
			return v, ok
		})
	}
	return names, globals
}

// slsContext returns the variables that describe the place of an SLS (salt/utils/templates.py,
// generate_sls_context).
func slsContext(path, sls string) map[string]any {
	vars := map[string]any{}
	dir := strings.ReplaceAll(sls, ".", "/")
	if path != "" {
		file := templateName(path, sls, dir)
		dir = ""
		if i := strings.LastIndexByte(file, '/'); i >= 0 {
			dir = file[:i]
		}
		vars["tplpath"], vars["tplfile"], vars["tpldir"] = path, file, "."
		if dir != "" {
			vars["tpldir"] = dir
		}
		vars["tpldot"] = strings.ReplaceAll(dir, "/", ".")
	}
	vars["slspath"] = dir
	vars["slsdotpath"] = strings.ReplaceAll(dir, "/", ".")
	vars["slscolonpath"] = strings.ReplaceAll(dir, "/", ":")
	vars["sls_path"] = strings.ReplaceAll(dir, "/", "_")
	return vars
}

// templateName returns the path of a template relative to its root, as far as the name of its SLS
// reveals it.
func templateName(path, sls, dir string) string {
	path = strings.ReplaceAll(path, "\\", "/")
	switch {
	case sls == "":
		return path[strings.LastIndexByte(path, '/')+1:]
	case strings.HasSuffix(path, dir+".sls"):
		return path[len(path)-len(dir)-4:]
	case strings.HasSuffix(path, dir+"/init.sls"):
		return path[len(path)-len(dir)-9:]
	}
	return path
}
