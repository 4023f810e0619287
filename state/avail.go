package state

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// avail lists the environments and SLS files of the file server and fetches each list on first use
// (salt/state.py, LazyAvailStates).
type avail struct {
	c      *Compiler
	envs   []string            // nil until fetched
	states map[string][]string // environment → names
}

func (c *Compiler) avail() *avail { return &avail{c: c, states: map[string][]string{}} }

// has reports whether an environment exists. The environment base always does.
func (a *avail) has(ctx context.Context, saltenv string) (bool, error) {
	if saltenv == "base" {
		return true, nil
	}
	if a.envs == nil {
		envs, err := a.c.environments(ctx)
		if err != nil {
			return false, err
		}
		a.envs = envs
	}
	return slices.Contains(a.envs, saltenv), nil
}

// hasOrDynamic is has, but accepts every environment if the file server has one named __env__.
func (a *avail) hasOrDynamic(ctx context.Context, saltenv string) (bool, error) {
	ok, err := a.has(ctx, saltenv)
	if ok || err != nil {
		return ok, err
	}
	return a.has(ctx, "__env__")
}

// matching returns the names of the SLS in an environment that match a glob.
func (a *avail) matching(ctx context.Context, saltenv, pattern string) ([]string, error) {
	states, ok := a.states[saltenv]
	if !ok {
		var err error
		if states, err = a.c.files.States(ctx, saltenv); err != nil {
			return nil, err
		}
		a.states[saltenv] = states
	}
	return filter(states, pattern), nil
}

// filter returns the names that match a glob, like Python's fnmatch.filter.
func filter(names []string, pattern string) []string {
	if !strings.ContainsAny(pattern, "*?[") {
		if slices.Contains(names, pattern) {
			return []string{pattern}
		}
		return nil
	}
	var found []string
	glob := match.CompileGlob(pattern)
	for _, name := range names {
		if glob.Match(name) {
			found = append(found, name)
		}
	}
	return found
}

// environments returns the environments in the order in which their top files are read
// (salt/state.py, _get_envs).
func (c *Compiler) environments(ctx context.Context) ([]string, error) {
	served, err := c.files.Envs(ctx)
	if err != nil {
		return nil, err
	}
	if order := distinct(texts(c.env().Option("env_order"))); len(order) > 0 {
		if len(served) == 0 {
			return order, nil
		}
		return slices.DeleteFunc(order,
			func(env string) bool { return !slices.Contains(served, env) }), nil
	}
	envs := []string{"base"}
	if roots, ok := c.env().Option("file_roots").(*data.Map); ok {
		envs = append(envs, texts(roots.Keys())...)
	}
	return distinct(append(envs, served...)), nil
}

// distinct returns a list without its duplicates. The first of each stays.
func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// texts returns the strings in a list.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
