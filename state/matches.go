package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader/matchers"
	"github.com/brineproject/brine/match"
)

// Matches returns the SLS that top data and master_tops assign to the minion: environment → list of
// SLS (salt/state.py, top_matches).
func (c *Compiler) Matches(ctx context.Context, top *data.Map) (*data.Map, error) {
	m := matching{ctx: ctx, c: c, available: c.avail(), found: data.NewMap()}
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

// matching collects the matches of one minion.
type matching struct {
	ctx       context.Context
	c         *Compiler
	available *avail
	found     *data.Map
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

// target adds the SLS of a target if it matches the minion.
func (m *matching) target(saltenv, target, mods any) error {
	list, ok := mods.([]any)
	if !ok {
		list = []any{mods}
	}
	if named, err := m.c.targeted(m.ctx, target, list); err != nil || !named {
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

// item adds one entry of a target: an SLS, {ENV: SLS}, or {subfilter: targets}.
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
		if known, err := m.available.has(m.ctx, name); err != nil || !known {
			return err
		}
		m.add(name, sls)
	}
	return nil
}

// targeted reports whether a target matches the minion. The argument match among its SLS selects
// the kind of matcher (salt/matchers/confirm_top.py).
func (c *Compiler) targeted(ctx context.Context, target any, mods []any) (bool, error) {
	kind := "compound"
	for _, item := range mods {
		if option, ok := item.(*data.Map); ok && option.Has("match") {
			kind = data.Str(option.Value("match"))
		}
	}
	named, err := matchers.Confirm(ctx, c.env(),
		matchers.Target{Pattern: target, Kind: kind, Mods: mods},
		&match.Minion{ID: c.text("id"), Grains: c.env().GrainsNow(), Pillar: c.env().PillarNow()})
	if errors.Is(err, match.ErrUnknownType) || errors.Is(err, matchers.ErrFailed) {
		return false, fmt.Errorf("match target %s of top file: %w", data.Repr(target), err)
	}
	if err != nil {
		c.env().Log.Errorf("Top file: target %s matches no minion: %v", data.Repr(target), err)
		return false, nil
	}
	return named, nil
}

// masterTops adds the SLS of master_tops after those of the top files, or before them with
// master_tops_first.
func (m *matching) masterTops() error {
	more, err := m.c.files.MasterTops(m.ctx, m.c.env().Opts)
	if err != nil {
		return fmt.Errorf("query master_tops: %w", err)
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
