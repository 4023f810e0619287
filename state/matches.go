package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// Matches returns what top data and master_tops give the minion: environment → list of SLS (salt/state.py, top_matches).
func (c *Compiler) Matches(ctx context.Context, top *data.Map) (*data.Map, error) {
	m := matching{ctx: ctx, c: c, have: c.avail(), found: data.NewMap()}
	for saltenv, targets := range top.All() {
		if only := c.text("saltenv"); only != "" && saltenv != only {
			continue
		}
		if err := m.targets(saltenv, targets); err != nil {
			return nil, err
		}
	}
	return m.found, m.masterTops()
}

// matching gathers matches.
type matching struct {
	ctx   context.Context
	c     *Compiler
	have  *avail
	found *data.Map
}

func (m *matching) targets(saltenv, targets any) error {
	list, _ := targets.(*data.Map)
	for target, mods := range list.All() {
		if err := m.target(saltenv, target, mods); err != nil {
			return err
		}
	}
	return nil
}

// target takes the SLS of one target when it names the minion.
func (m *matching) target(saltenv, target, mods any) error {
	list, ok := mods.([]any)
	if !ok {
		list = []any{mods}
	}
	if named, err := m.c.named(target, list); err != nil || !named {
		return err
	}
	m.add(saltenv)
	for _, item := range list {
		if err := m.item(saltenv, item); err != nil {
			return err
		}
	}
	return nil
}

func (m *matching) add(saltenv any, more ...any) {
	list, _ := m.found.Value(saltenv).([]any)
	m.found.Set(saltenv, append(slices.Clip(list), more...))
}

// item takes one entry of a target: an SLS, {ENV: SLS}, or {subfilter: targets}.
func (m *matching) item(saltenv, item any) error {
	entry, ok := item.(*data.Map)
	if !ok {
		if _, ok := item.(string); ok {
			m.add(saltenv, item)
		}
		return nil
	}
	if err := m.targets(saltenv, entry.Value("subfilter")); err != nil {
		return err
	}
	if entry.Len() == 0 || entry.Has("subfilter") {
		return nil
	}
	key, sls := entry.At(entry.Len() - 1)
	if name, ok := key.(string); ok {
		if known, err := m.have.has(m.ctx, name); err != nil || !known {
			return err
		}
		m.add(name, sls)
	}
	return nil
}

// named reports whether a target names the minion; its kind is the option match among its SLS
// (salt/matchers/confirm_top.py).
func (c *Compiler) named(target any, mods []any) (bool, error) {
	kind := "compound"
	for _, item := range mods {
		if option, ok := item.(*data.Map); ok && option.Has("match") {
			kind = data.Str(option.Value("match"))
		}
	}
	groups, _ := c.env().Option("nodegroups").(*data.Map)
	e, err := match.Compile(target, kind, "", match.Options{Nodegroups: groups})
	if errors.Is(err, match.ErrUnknownType) {
		return false, fmt.Errorf("top file, target %s: %w", data.Repr(target), err)
	}
	if err != nil {
		c.env().Log.Errorf("Top file: target %s names nobody: %v", data.Repr(target), err)
		return false, nil
	}
	return e.Match(&match.Minion{ID: c.text("id"), Grains: c.env().GrainsNow(), Pillar: c.env().PillarNow()}), nil
}

// masterTops adds what master_tops say, after what top files say or before it.
func (m *matching) masterTops() error {
	more, err := m.c.files.MasterTops(m.ctx, m.c.env().Opts)
	if err != nil {
		return fmt.Errorf("master_tops: %w", err)
	}
	for saltenv, v := range more.All() {
		first, _ := m.found.Value(saltenv).([]any)
		second, _ := v.([]any)
		if data.Truth(m.c.env().Option("master_tops_first")) {
			first, second = second, first
		}
		first = slices.Clone(first)
		for _, sls := range second {
			if !slices.ContainsFunc(first, func(have any) bool { return data.Equal(have, sls) }) {
				first = append(first, sls)
			}
		}
		m.found.Set(saltenv, first)
	}
	return nil
}
