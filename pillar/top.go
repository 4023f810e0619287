package pillar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader/matchers"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/render"
)

// errTop reports a top file whose data have an invalid form.
var errTop = errors.New("Error encountered while rendering pillar top file.") //nolint:staticcheck // Salt's words

// A target is an entry of a top file.
type target struct {
	pattern any
	kind    string // kind of matcher
	order   int
	names   []string // of SLS
	matches []any    // how it is matched, as written
	ignore  bool     // SLS may be missing
}

// top returns the targets of all top files, merged: environment → pattern → *target
// (Pillar.get_top).
func (w *compilation) top(ctx context.Context) (*data.Map, []any) {
	tops, errs := w.tops(ctx)
	merged := data.NewMap()
	for _, t := range tops {
		if err := w.addTop(merged, t); err != nil {
			w.Log.Error(err)
			return data.NewMap(), append(errs, errTop.Error())
		}
	}
	return merged, errs
}

// tops renders the top files and their includes, one level deep (Pillar.get_tops).
func (w *compilation) tops(ctx context.Context) (tops []any, errs []any) {
	name := strings.TrimPrefix(firstText(w.opts.Text("state_top"), "top.sls"), "salt://")
	var includes [][2]string
	for _, env := range w.topEnvironments() {
		if ctx.Err() != nil {
			break
		}
		top, err := w.renderTop(ctx, env,
			func() (*sls, error) { return read(ctx, w.files, name, env) })
		if err != nil {
			w.Log.Errorf("Rendering Primary Top file failed, render error: %s", render.Brief(err))
			errs = append(errs, "Rendering Primary Top file failed, render error:\n"+err.Error())
			break
		}
		for _, include := range takeIncludes(top) {
			includes = append(includes, [2]string{env, include})
		}
		tops = append(tops, top)
	}
	for i, in := range includes {
		if slices.Contains(includes[:i], in) {
			continue
		}
		top, err := w.renderTop(ctx, in[0],
			func() (*sls, error) { return find(ctx, w.files, in[1], in[0]) })
		if err != nil {
			w.Log.Errorf("Rendering Top file %s failed, render error: %s", in[1], render.Brief(err))
			errs = append(errs, fmt.Sprintf("Rendering Top file %s failed, render error:\n%s",
				in[1], err))
			continue
		}
		tops = append(tops, top)
	}
	return tops, errs
}

// topEnvironments returns the environments whose top files are used.
func (w *compilation) topEnvironments() []string {
	if w.pillarenv != "" {
		if !slices.Contains(w.files.Envs(), w.pillarenv) {
			w.Log.Debugf("pillarenv '%s' not found in the configured pillar environments (%s)",
				w.pillarenv, strings.Join(w.files.Envs(), ", "))
			return nil
		}
		return []string{w.pillarenv}
	}
	envs := w.environments()
	if w.strategy() == "none" {
		only := firstText(w.saltenv, "base")
		envs = slices.DeleteFunc(envs, func(env string) bool { return env != only })
	}
	return envs
}

func (w *compilation) renderTop(
	ctx context.Context, env string, get func() (*sls, error),
) (any, error) {
	file, err := get()
	if err != nil {
		return nil, err
	}
	if file == nil {
		return data.NewMap(), nil
	}
	return w.engine.Render(ctx, render.Input{Text: file.text, Path: file.path, SaltEnv: env})
}

// takeIncludes removes the includes of a top file and returns them.
func takeIncludes(top any) []string {
	m, ok := top.(*data.Map)
	if !ok {
		return nil
	}
	list, _ := m.Value("include").([]any)
	m.Delete("include")
	var names []string
	for _, v := range list {
		names = append(names, data.Str(v))
	}
	return names
}

// addTop adds the targets of one top file; for a pattern in one environment the last entry counts
// (Pillar.merge_tops).
func (w *compilation) addTop(merged *data.Map, top any) error {
	m, ok := top.(*data.Map)
	if !ok {
		return fmt.Errorf("%w It has %s where environments should stand", errTop, kind(top))
	}
	for env, patterns := range m.All() {
		name, isText := env.(string)
		body, isMap := patterns.(*data.Map)
		if name == "include" {
			continue
		}
		if !isText {
			return fmt.Errorf("%w The environment %s is not a text", errTop, data.Str(env))
		}
		if !isMap {
			return fmt.Errorf("%w Below %s it has %s where targets should stand, each with a list of SLS", errTop, data.Str(env), kind(patterns))
		}
		targets, _ := merged.Value(env).(*data.Map)
		if targets == nil {
			targets = data.NewMap()
			merged.Set(env, targets)
		}
		for pattern, entries := range body.All() {
			t, err := newTarget(pattern, entries)
			if err != nil {
				return err
			}
			if t.ignore {
				w.ignored[name] = append(w.ignored[name], t.names...)
			}
			targets.Set(pattern, t)
		}
	}
	return nil
}

func newTarget(pattern, entries any) (*target, error) {
	t := &target{pattern: pattern, kind: "compound"}
	var list []any
	switch v := entries.(type) {
	case []any:
		list = v
	case *data.Map:
		list = v.Keys()
	default:
		return nil, fmt.Errorf("%w The target %s has %s in place of a list of SLS", errTop,
			data.Str(pattern), kind(entries))
	}
	for _, entry := range list {
		switch v := entry.(type) {
		case string:
			if !slices.Contains(t.names, v) {
				t.names = append(t.names, v)
			}
		case *data.Map:
			t.option(v)
		}
	}
	return t, nil
}

// kind describes the type of an unexpected value.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case []any:
		return "a list"
	case *data.Map:
		return "a dictionary"
	}
	return "a single value"
}

// option reads match, order and ignore_missing.
func (t *target) option(m *data.Map) {
	if kind, ok := m.Get("match"); ok {
		t.matches = append(t.matches, m)
		t.kind = data.Str(kind)
	}
	if order, ok := m.Get("order"); ok {
		t.order, _ = strconv.Atoi(strings.TrimSpace(data.Str(order)))
	}
	if data.Truth(m.Value("ignore_missing")) {
		t.ignore = true
	}
}

// shown returns a target in the form of Salt's get_top.
func (t *target) shown() []any {
	list := slices.Clone(t.matches)
	for _, name := range t.names {
		list = append(list, name)
	}
	return list
}

// Top returns the merged top files of a minion: environment → target → list of SLS, preceded by how
// the target is matched; and their errors (Pillar.get_top). err is as for Compile.
func (c *Compiler) Top(ctx context.Context, r Request) (top *data.Map, wrong []any, err error) {
	ctx, err = deeper(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("top files of pillar: %w", err)
	}
	w, err := c.compilation(ctx, r)
	if err != nil {
		return nil, nil, fmt.Errorf("top files of pillar: %w", err)
	}
	merged, wrong := w.top(ctx)
	top = data.NewMap()
	for env, targets := range merged.All() {
		shown := data.NewMap()
		for _, t := range ordered(targets.(*data.Map)) {
			shown.Set(t.pattern, t.shown())
		}
		top.Set(env, shown)
	}
	return top, wrong, ctx.Err()
}

// An assignment lists the SLS of a minion in one environment.
type assignment struct {
	env   string
	names []string
}

// matches returns the SLS of the targets that match the minion (Pillar.top_matches).
func (w *compilation) matches(ctx context.Context, top *data.Map) []assignment {
	var out []assignment
	for env, targets := range top.All() {
		if w.pillarenv != "" && env != w.pillarenv {
			continue
		}
		a := assignment{env: env.(string)}
		for _, t := range ordered(targets.(*data.Map)) {
			if !w.named(ctx, t) {
				continue
			}
			for _, name := range t.names {
				if !slices.Contains(a.names, name) {
					a.names = append(a.names, name)
				}
			}
		}
		out = append(out, a)
	}
	return out
}

func ordered(targets *data.Map) []*target {
	var list []*target
	for _, t := range targets.All() {
		list = append(list, t.(*target))
	}
	slices.SortStableFunc(list, func(a, b *target) int { return a.order - b.order })
	return list
}

// named reports whether a target matches the minion (salt/matchers/confirm_top.py). An unknown kind
// of target, with which Salt's compilation ends, is an error that the minion sees.
func (w *compilation) named(ctx context.Context, t *target) bool {
	named, err := matchers.Confirm(ctx, w.engine.Env(), matchers.Target{Pattern: t.pattern,
		Kind: t.kind, Mods: append(slices.Clone(t.matches), data.Values(t.names)...)}, w.minion())
	if errors.Is(err, match.ErrUnknownType) || errors.Is(err, matchers.ErrFailed) {
		w.fail(fmt.Sprintf("Pillar top file: target %s: %s", data.Str(t.pattern), err))
		return false
	}
	if err != nil {
		w.Log.Errorf("Pillar top file: target %s: %s", data.Str(t.pattern), err)
		return false
	}
	return named
}
