package aptpkg

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type holdArgs struct {
	Name    any       `default:"None"`
	Pkgs    any       `default:"None"`
	Sources any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// hold prevents packages from being upgraded. It returns the result for each package.
//
// name
//
//	The package.
//
// pkgs, sources
//
//	Instead of name: a list of packages, or the sources given to pkg.install.
//
// CLI Example:
//
//	salt '*' pkg.hold <package name>
//	salt '*' pkg.hold pkgs='["foo", "bar"]'
func (m *module) hold(ctx context.Context, a holdArgs) (any, error) {
	return m.each(ctx, a, holding{
		selection: "hold", is: "Package %s is already set to be held.",
		would: "Package %s is set to be held.", done: "Package %s is now being held.",
		failed: "Package %s not currently held.",
	})
}

// unhold allows packages to be upgraded again. It returns the result for each package.
//
// name
//
//	The package.
//
// pkgs, sources
//
//	Instead of name: a list of packages, or the sources given to pkg.install.
//
// CLI Example:
//
//	salt '*' pkg.unhold <package name>
//	salt '*' pkg.unhold pkgs='["foo", "bar"]'
func (m *module) unhold(ctx context.Context, a holdArgs) (any, error) {
	return m.each(ctx, a, holding{
		selection: "install", is: "Package %s is already set not to be held.",
		would: "Package %s is set not to be held.", done: "Package %s is no longer being held.",
		failed: "Package %s does not have a state.",
	})
}

// A holding is one of the two directions, hold or unhold, with its texts.
type holding struct{ selection, is, would, done, failed string }

// names returns the packages that a call is about.
func (a holdArgs) names() ([]string, error) {
	switch {
	case !data.Truth(a.Name) && !data.Truth(a.Pkgs) && !data.Truth(a.Sources):
		return nil, loader.Invocation("One of name, pkgs, or sources must be specified.")
	case data.Truth(a.Pkgs) && data.Truth(a.Sources):
		return nil, loader.Invocation("Only one of pkgs or sources can be specified.")
	case data.Truth(a.Pkgs):
		return named(a.Pkgs), nil
	case data.Truth(a.Sources):
		return named(a.Sources), nil
	}
	return []string{data.Str(a.Name)}, nil
}

// named returns the names in a list of names and one-entry dictionaries, or in one dictionary.
func named(v any) []string {
	if all, ok := v.(*data.Map); ok {
		v = all.Keys()
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var names []string
	for _, e := range list {
		if one, ok := e.(*data.Map); ok && one.Len() > 0 {
			e, _ = one.At(0)
		}
		names = append(names, data.Str(e))
	}
	return names
}

func (m *module) each(ctx context.Context, a holdArgs, h holding) (any, error) {
	names, err := a.names()
	if err != nil {
		return nil, err
	}
	now, err := m.selectionStates(ctx)
	if err != nil {
		return nil, err
	}
	all := &data.Map{}
	for _, name := range names {
		ret, err := m.one(ctx, name, now[name], h)
		if err != nil {
			return nil, err
		}
		all.Set(name, ret)
	}
	return all, nil
}

func (m *module) one(ctx context.Context, name, now string, h holding) (*data.Map, error) {
	say := func(result any, changes any, format string) *data.Map {
		if changes == nil {
			changes = &data.Map{}
		}
		return data.NewMap("name", name, "changes", changes, "result", result,
			"comment", fmt.Sprintf(format, name))
	}
	switch {
	case now == "hold" && h.selection == "hold" || now != "" && now != "hold" &&
		h.selection == "install":
		return say(true, nil, h.is), nil
	case now == "" && h.selection == "install":
		return say(false, nil, h.failed), nil
	case m.testing(ctx):
		return say(nil, nil, h.would), nil
	}
	changes, err := m.applySelections(ctx, map[string][]string{h.selection: {name}})
	if err != nil {
		return nil, err
	}
	if v, ok := changes.Get(name); ok {
		return say(true, v, h.done), nil
	}
	return say(false, nil, h.failed), nil
}
