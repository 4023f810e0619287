package sys

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func (m *module) docs() []loader.Func {
	return []loader.Func{
		loader.F("doc", m.doc),
		loader.F("state_doc", m.stateDoc),
		loader.F("runner_doc", m.runnerDoc),
		loader.F("returner_doc", m.returnerDoc),
		loader.F("renderer_doc", m.rendererDoc),
	}
}

// doc returns the documentation of all functions, or of those that match the given modules,
// functions and globs.
//
// CLI Example:
//
//	salt '*' sys.doc
//	salt '*' sys.doc sys
//	salt '*' sys.doc sys.doc
//	salt '*' sys.doc network.traceroute user.info
//	salt '*' sys.doc 'sys.list_*'
func (m *module) doc(_ context.Context, a nameArgs) (any, error) {
	return docs(m.env.Functions, a.Names)
}

// stateDoc returns the documentation of all state modules and their functions, or of those that
// match the given modules, functions and globs.
//
// CLI Example:
//
//	salt '*' sys.state_doc
//	salt '*' sys.state_doc service
//	salt '*' sys.state_doc service.running ipables.append
//	salt '*' sys.state_doc 'service.*' 'iptables.*'
func (m *module) stateDoc(_ context.Context, a nameArgs) (any, error) {
	states := m.env.Registry("states")
	found, err := docs(states, a.Names)
	if err != nil {
		return nil, err
	}
	all := &data.Map{}
	for fun, doc := range found.All() {
		name, _, _ := strings.Cut(fun.(string), ".")
		if !all.Has(name) {
			all.Set(name, loader.StripRST(states.ModuleDoc(name)))
		}
		all.Set(fun, doc)
	}
	return all, nil
}

// runnerDoc returns the documentation of all runner functions, or of those that match the given
// runners, functions and globs.
//
// CLI Example:
//
//	salt '*' sys.runner_doc
//	salt '*' sys.runner_doc cache
//	salt '*' sys.runner_doc cache.grains
//	salt '*' sys.runner_doc 'cache.*' 'mine.*'
func (m *module) runnerDoc(_ context.Context, a nameArgs) (any, error) {
	return docs(m.env.Registry("runners"), a.Names)
}

// returnerDoc returns the documentation of all returner functions, or of those that match the given
// returners and functions.
//
// CLI Example:
//
//	salt '*' sys.returner_doc
//	salt '*' sys.returner_doc sqlite3
//	salt '*' sys.returner_doc sqlite3.get_fun
func (m *module) returnerDoc(_ context.Context, a nameArgs) (any, error) {
	words, err := texts(a.Names)
	if err != nil {
		return nil, err
	}
	var plain []any
	for _, w := range words {
		// Salt treats a glob of returners as a plain name, which matches none
		if !strings.Contains(w, "*") {
			plain = append(plain, w)
		}
	}
	if plain == nil && words != nil && len(words) > 0 {
		return &data.Map{}, nil
	}
	return docs(m.env.Registry("returners"), plain)
}

// rendererDoc returns the documentation of all renderers, or of those that match a glob.
//
// CLI Example:
//
//	salt '*' sys.renderer_doc
//	salt '*' sys.renderer_doc 'c*' 'j*'
func (m *module) rendererDoc(_ context.Context, a nameArgs) (any, error) {
	words, err := texts(a.Names)
	if err != nil {
		return nil, err
	}
	found := &data.Map{}
	for _, fun := range m.env.Registry("renderers").Names() {
		name, _, _ := strings.Cut(fun, ".")
		if f, ok := m.env.Registry("renderers").Func(fun); ok && namesRenderer(words, name) {
			found.Set(name, loader.StripRST(f.Spec().Docstring()))
		}
	}
	return found, nil
}

// namesRenderer reports whether a glob among the words matches the name. As in Salt, a word without
// * or dot matches no renderer.
func namesRenderer(words []string, name string) bool {
	for _, w := range words {
		if strings.ContainsAny(w, "*.") && loader.Glob(w, name) {
			return true
		}
	}
	return len(words) == 0
}

// docs returns the documentation of the functions of a registry that match the words. Without words
// it returns all.
func docs(r *loader.Registry, args []any) (*data.Map, error) {
	words, err := texts(args)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		words = []string{""}
	}
	found := &data.Map{}
	for _, word := range words {
		found.Update(r.Docs(word))
	}
	return found, nil
}
