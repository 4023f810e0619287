package pillar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar/shellglob"
	"github.com/brineproject/brine/render/saltjinja"
	"github.com/brineproject/brine/yaml"
)

// Stack is the external pillar stack: YAML templates, listed in other files, merged over one
// another (salt/pillar/stack.py). The list files are positional arguments, or selected by the value
// of a name such as grains:os. Differences: a template's changes of the variable stack have no
// effect outside, and for invalid YAML the minion only sees the file name.
type Stack struct{}

// Name implements Source.
func (Stack) Name() string { return "stack" }

// Check implements Checker.
func (Stack) Check(argument any, _ *data.Map) error {
	args, kwargs := Spread(argument)
	for _, a := range args {
		if _, ok := a.(string); !ok {
			return fmt.Errorf("expected the path of a file, not %s", data.Repr(a))
		}
	}
	for k, v := range kwargs.All() {
		kind, _, ok := strings.Cut(data.Str(k), ":")
		if !ok || !slices.Contains([]string{"pillar", "grains", "opts"}, kind) {
			return fmt.Errorf("expected pillar:KEY, grains:KEY or opts:KEY, not %s", data.Repr(k))
		}
		if _, ok := v.(*data.Map); !ok {
			return fmt.Errorf("%s: expected a dictionary of values to files", data.Str(k))
		}
	}
	return nil
}

// Pillar implements Source.
func (Stack) Pillar(ctx context.Context, q Query) (*data.Map, error) {
	s := &stacking{Query: q, stack: data.NewMap()}
	configs, err := s.configs()
	if err != nil {
		return nil, err
	}
	for _, at := range configs {
		if st, err := os.Stat(at); err != nil || !st.Mode().IsRegular() {
			q.Log.Infof("Ignoring pillar stack cfg %q: file does not exist", at)
			continue
		}
		if err := s.config(ctx, at); err != nil {
			return nil, err
		}
	}
	return s.stack, nil
}

// A stacking is the state of one minion.
type stacking struct {
	Query
	stack *data.Map
}

// configs returns the list files.
func (s *stacking) configs() ([]string, error) {
	args, kwargs := Spread(s.Argument)
	var all []string
	for _, a := range args {
		all = append(all, data.Str(a))
	}
	for selector, choices := range kwargs.All() {
		found, err := s.chosen(data.Str(selector), choices)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (s *stacking) chosen(selector string, choices any) ([]string, error) {
	kind, key, ok := strings.Cut(selector, ":")
	if !ok {
		return nil, errors.New("not enough values to unpack (expected 2, got 1)")
	}
	m, ok := choices.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("the choices of %s are no dictionary", selector)
	}
	env := firstText(s.Opts.Text("pillarenv"), s.Opts.Text("saltenv"), "base")
	if v, dynamic := m.Get("__env__"); dynamic {
		m = m.Clone()
		m.Delete("__env__")
		m.Set(env, v)
	}
	in, ok := map[string]*data.Map{"pillar": s.Query.Pillar, "grains": s.Grains,
		"opts": s.Opts}[kind]
	if !ok {
		return nil, fmt.Errorf(`Unknown traverse option "%s", should be one of dict_keys(['pillar', 'grains', 'opts'])`, kind) //nolint:staticcheck // Salt's text
	}
	value, _ := data.Lookup(in, key, ":")
	if !data.Hashable(value) {
		return nil, fmt.Errorf("unhashable type: '%s'", loader.TypeName(value))
	}
	files := m.Value(value)
	if list, ok := files.([]any); ok && len(list) == 0 || !m.Has(value) {
		return nil, nil
	}
	var all []string
	for _, f := range asList(files) {
		if !isName(env) && strings.Contains(data.Str(f), "__env__") {
			continue // a minion may have any value
		}
		all = append(all, strings.ReplaceAll(data.Str(f), "__env__", env))
	}
	return all, nil
}

func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// config merges the files of one list file.
func (s *stacking) config(ctx context.Context, at string) error {
	dir, name := filepath.Split(at)
	templates, err := saltjinja.NewFolder(dir, s.Engine)
	if err != nil {
		return err
	}
	names := s.names(at)
	text, err := templates.Render(ctx, name, names)
	if err != nil {
		return fmt.Errorf("the list %s does not render: %w", at, s.hideError(err))
	}
	for _, item := range stackItems(text) {
		pattern, ok := item.(string)
		if !ok {
			return fmt.Errorf("the list %s has an entry of type %s, which is not a path", at,
				loader.TypeName(item))
		}
		if strings.TrimSpace(pattern) == "" {
			continue
		}
		if err := s.pattern(ctx, templates, dir, pattern, names); err != nil {
			return err
		}
	}
	return nil
}

// hideError logs a template's error and returns the one that the minion sees, which omits the
// details.
func (s *stacking) hideError(err error) error {
	s.Log.Errorf("ext_pillar stack of %s: %s", s.ID, err)
	return errors.New("please see the master's log")
}

// names returns the variables of templates.
func (s *stacking) names(at string) map[string]any {
	return map[string]any{
		"__opts__": s.Opts, "__salt__": saltjinja.Functions(s.Engine.Env()), "__grains__": s.Grains,
		"minion_id": s.ID,
		"__stack__": data.NewMap("traverse", saltjinja.Traverse(), "cfg_path", at),
		"pillar":    s.Query.Pillar, "pillarenv": s.Opts.Value("pillarenv"), "stack": s.stack,
	}
}

// stackItems returns the entries of a list file: a YAML list, or else one entry per line.
func stackItems(text string) []any {
	if v, err := yaml.Load([]byte(text), yaml.Options{}); err == nil {
		if list, ok := v.([]any); ok {
			return list
		}
	}
	var items []any
	for line := range strings.Lines(text) {
		items = append(items, strings.TrimRight(line, "\r\n"))
	}
	return items
}

// pattern merges the files of one entry.
func (s *stacking) pattern(
	ctx context.Context, templates *saltjinja.Folder, dir, pattern string, names map[string]any,
) error {
	at := pattern
	if !filepath.IsAbs(pattern) {
		at = filepath.Join(dir, filepath.FromSlash(pattern))
	}
	paths := shellglob.Paths(at)
	if len(paths) == 0 {
		s.Log.Infof("Ignoring pillar stack template %q: can't find from root dir %q", pattern,
			strings.TrimSuffix(dir, string(filepath.Separator)))
	}
	for _, path := range paths {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		names["ymlpath"], names["stack"] = path, s.stack
		text, err := templates.Render(ctx, filepath.ToSlash(name), names)
		if err != nil {
			// Salt's text
			return fmt.Errorf("Stack pillar template render error in %s: %w", path,
				s.hideError(err))
		}
		v, err := yaml.Load([]byte(text), yaml.Options{})
		if err != nil {
			// Salt's text
			return fmt.Errorf("Stack pillar yaml parsing error in %s: %w", path, s.hideError(err))
		}
		if m, ok := v.(*data.Map); ok {
			if s.stack, err = stackMap(s.stack, m); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}
