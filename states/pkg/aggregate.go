package pkg

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/state"
)

type initArgs struct{ Low *data.Map }

// modInit makes the first state that installs something refresh the package lists.
//
//	vim:
//	  pkg.installed
func (m *module) modInit(ctx context.Context, a initArgs) (any, error) {
	if m.has("pkg.ex_mod_init") {
		if _, err := m.env.Call(ctx, "pkg.ex_mod_init", []any{a.Low}, nil); err != nil {
			return nil, err
		}
	}
	if fun := a.Low.Value("fun"); fun != "installed" && fun != "latest" {
		return false, nil
	}
	packages.AskRefresh(m.env)
	return true, nil
}

type aggregateArgs struct {
	Low     *data.Map
	Chunks  []any
	Running *data.Map
}

// modAggregate joins the packages of further chunks to those of one, so that the package manager is
// called once.
//
//	web:
//	  pkg.installed:
//	    - aggregate: True
//	    - pkgs:
//	      - nginx
func (m *module) modAggregate(_ context.Context, a aggregateArgs) (any, error) {
	if !slices.Contains([]string{"installed", "latest", "removed", "purged"}, a.Low.Text("fun")) ||
		!joinable(a.Low) {
		return a.Low, nil
	}
	j := &packageSet{word: "pkgs"}
	if a.Low.Has("sources") {
		j.word = "sources"
	}
	if !j.add(a.Low) {
		return a.Low, nil
	}
	for _, v := range a.Chunks {
		chunk, _ := v.(*data.Map)
		if chunk.Has("__agg__") || !alike(chunk, a.Low) ||
			a.Running.Has(state.Chunk{Map: chunk}.Tag()) || !joinable(chunk) {
			continue
		}
		if chunk.Has("sources") == (j.word == "sources") && j.add(chunk) {
			chunk.Set("__agg__", true)
			j.joined = true
		}
	}
	if j.joined {
		a.Low.Set(j.word, j.all)
		a.Low.Delete("version")
	}
	return a.Low, nil
}

// alike reports whether a chunk has the same function as another, with packages from the same
// source.
func alike(chunk, low *data.Map) bool {
	return chunk.Value("state") == "pkg" && chunk.Value("fun") == low.Value("fun") &&
		data.Equal(chunk.Value("fromrepo"), low.Value("fromrepo"))
}

// joinable reports whether a chunk runs regardless of earlier ones, and holds no packages.
func joinable(chunk *data.Map) bool {
	for _, key := range []string{"hold", "onlyif", "unless", "creates", "onchanges",
		"onchanges_any", "onfail", "onfail_any", "onfail_all", "prereq"} {
		if chunk.Has(key) {
			return false
		}
	}
	return true
}

// A packageSet collects the packages of several chunks.
type packageSet struct {
	word   string // pkgs or sources
	all    []any
	joined bool
}

// add adds the packages of a chunk, without duplicates. If the chunk requests another version of a
// package, it adds none and returns false.
func (j *packageSet) add(chunk *data.Map) bool {
	own, ok := chunk.Value(j.word).([]any)
	if !ok {
		if chunk.Has(j.word) || !chunk.Has("name") {
			return false
		}
		own = singlePackage(chunk.Value("name"), chunk.Value("version"))
	}
	all := slices.Clone(j.all)
	for _, e := range own {
		name, version := entry(e)
		i := slices.IndexFunc(all, func(o any) bool {
			other, _ := entry(o)
			return data.Equal(other, name)
		})
		if i < 0 {
			all = append(all, e)
			continue
		}
		if _, there := entry(all[i]); !data.Equal(there, version) {
			return false
		}
	}
	j.all = all
	return true
}

// entry returns the name and the version or file of an element of a list of packages.
func entry(e any) (name, version any) {
	if one, ok := e.(*data.Map); ok && one.Len() > 0 {
		return one.At(0)
	}
	return e, nil
}
