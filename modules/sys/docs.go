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

// doc returns what is written about all functions, or about those that modules, functions and globs name.
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

// stateDoc returns what is written about all state modules and their functions, or about those that modules, functions and
// globs name.
//
// CLI Example:
//
//	salt '*' sys.state_doc
//	salt '*' sys.state_doc service
//	salt '*' sys.state_doc service.running ipables.append
//	salt '*' sys.state_doc 'service.*' 'iptables.*'
func (m *module) stateDoc(_ context.Context, a nameArgs) (any, error) {
	states := m.env.Shelf("states")
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

// runnerDoc returns what is written about all functions of runners, or about those that runners, functions and globs name.
//
// CLI Example:
//
//	salt '*' sys.runner_doc
//	salt '*' sys.runner_doc cache
//	salt '*' sys.runner_doc cache.grains
//	salt '*' sys.runner_doc 'cache.*' 'mine.*'
func (m *module) runnerDoc(_ context.Context, a nameArgs) (any, error) {
	return docs(m.env.Shelf("runners"), a.Names)
}

// returnerDoc returns what is written about all functions of returners, or about those that returners and functions name.
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
		if !strings.Contains(w, "*") { // Salt takes a glob of returners for a plain name, which none has
			plain = append(plain, w)
		}
	}
	if plain == nil && words != nil && len(words) > 0 {
		return &data.Map{}, nil
	}
	return docs(m.env.Shelf("returners"), plain)
}

// rendererDoc returns what is written about all renderers, or about those that a glob names.
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
	for _, fun := range m.env.Shelf("renderers").Names() {
		name, _, _ := strings.Cut(fun, ".")
		if f, ok := m.env.Shelf("renderers").Func(fun); ok && namesRenderer(words, name) {
			found.Set(name, loader.StripRST(f.Spec().Docstring()))
		}
	}
	return found, nil
}

// namesRenderer reports whether one of the words is a glob for the name; a word without * or dot names no renderer in Salt.
func namesRenderer(words []string, name string) bool {
	for _, w := range words {
		if strings.ContainsAny(w, "*.") && loader.Glob(w, name) {
			return true
		}
	}
	return len(words) == 0
}

// docs returns the docstrings of the functions of a shelf that the words name, all of them without words.
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
