package aptpkg

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/yaml"
)

type selectionsArgs struct {
	Pattern any `default:"None"`
	State   any `default:"None"`
}

// getSelections returns what dpkg is to do with packages: lists of names under install, hold, deinstall and purge.
//
// pattern
//
//	Only packages that it fits.
//
// state
//
//	Only those with this wish.
//
// CLI Example:
//
//	salt '*' pkg.get_selections
//	salt '*' pkg.get_selections 'python-*'
//	salt '*' pkg.get_selections state=hold
//	salt '*' pkg.get_selections 'openssh*' state=hold
func (m *module) getSelections(ctx context.Context, a selectionsArgs) (any, error) {
	all, err := m.selections(ctx, text(a.Pattern))
	if err != nil {
		return nil, err
	}
	if data.Truth(a.State) {
		wish := data.Str(a.State)
		return data.NewMap(wish, data.Values(all[wish])), nil
	}
	out := &data.Map{}
	for _, wish := range wishes(all) {
		out.Set(wish, data.Values(all[wish]))
	}
	return out, nil
}

func wishes(all map[string][]string) []string {
	var names []string
	for wish := range all {
		names = append(names, wish)
	}
	slices.Sort(names)
	return names
}

// selections returns the names of packages by what dpkg is to do with them.
func (m *module) selections(ctx context.Context, pattern string) (map[string][]string, error) {
	if pattern == "" {
		pattern = "*"
	}
	if err := packages.Names(pattern); err != nil {
		return nil, err
	}
	o, err := m.run(ctx, words("dpkg", "--get-selections", pattern), "ignore_retcode", true)
	if err != nil {
		return nil, err
	}
	if o.code != 0 && !strings.Contains(o.stderr, "no packages found") {
		return nil, loader.Execution("Unable to list the selections of dpkg: %s", o.failure())
	}
	return parseSelections(o.stdout), nil
}

// parseSelections reads lines of a name and a wish.
func parseSelections(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		if cols := strings.Fields(line); len(cols) == 2 {
			all[cols[1]] = append(all[cols[1]], cols[0])
		}
	}
	return all
}

// wish tells dpkg what to do with packages.
func (m *module) wish(ctx context.Context, names []string, wish string) error {
	if len(names) == 0 {
		return nil
	}
	if err := packages.Names(names...); err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range names {
		lines.WriteString(name + " " + wish + "\n")
	}
	o, err := m.apt(ctx, words("dpkg", "--set-selections"), "stdin", lines.String())
	forget(ctx)
	if err == nil && o.code != 0 {
		err = loader.Execution("Unable to set the selection %s for %s: %s", wish, strings.Join(names, ", "), o.failure())
	}
	return err
}

type setSelectionsArgs struct {
	Path      any    `default:"None"`
	Selection any    `default:"None"`
	Clear     bool   `default:"False"`
	Saltenv   string `default:"'base'"`
}

// setSelections tells dpkg what to do with packages. It returns what is another wish than before.
//
// path
//
//	A file, which may be elsewhere, with lines of a name and one of install, hold, deinstall and purge.
//
// selection
//
//	In place of it a dictionary of lists of names under those.
//
// clear : False
//
//	First have all packages be removed.
//
// CLI Example:
//
//	salt '*' pkg.set_selections selection='{"install": ["netcat"]}'
//	salt '*' pkg.set_selections selection='{"hold": ["openssh-server", "openssh-client"]}'
//	salt '*' pkg.set_selections salt://path/to/file
//	salt '*' pkg.set_selections salt://path/to/file clear=True
func (m *module) setSelections(ctx context.Context, a setSelectionsArgs) (any, error) {
	wanted, err := m.wanted(ctx, a)
	if err != nil || len(wanted) == 0 {
		return &data.Map{}, err
	}
	testing := m.testing(ctx)
	if a.Clear && !testing {
		o, err := m.apt(ctx, words("dpkg", "--clear-selections"))
		if err != nil {
			return nil, err
		}
		if o.code != 0 {
			return nil, loader.Execution("Running dpkg --clear-selections failed: %s", o.stderr)
		}
	}
	if testing {
		return &data.Map{}, nil
	}
	return m.bringSelections(ctx, wanted)
}

// testing reports whether nothing may be written.
func (m *module) testing(ctx context.Context) bool {
	return change.Test(ctx) || data.Truth(m.env.Option("test"))
}

// bringSelections sets the wishes that are others than wanted, and returns those that were taken.
func (m *module) bringSelections(ctx context.Context, wanted map[string][]string) (*data.Map, error) {
	before, err := m.wishOf(ctx)
	if err != nil {
		return nil, err
	}
	for _, wish := range wishes(wanted) {
		var others []string
		for _, name := range wanted[wish] {
			if before[name] != wish {
				others = append(others, name)
			}
		}
		if err := m.wish(ctx, others, wish); err != nil {
			m.env.Log.Error(err.Error())
		}
	}
	after, err := m.wishOf(ctx)
	if err != nil {
		return nil, err
	}
	changes := &data.Map{}
	for _, wish := range wishes(wanted) {
		for _, name := range wanted[wish] {
			if after[name] == wish && before[name] != wish {
				changes.Set(name, data.NewMap("old", orNone(before[name]), "new", wish))
			}
		}
	}
	return changes, nil
}

func orNone(wish string) any {
	if wish == "" {
		return nil
	}
	return wish
}

// wishOf returns what dpkg is to do with each package, those of the host's own architecture under both of their names.
func (m *module) wishOf(ctx context.Context) (map[string]string, error) {
	all, err := m.selections(ctx, "")
	of := map[string]string{}
	for wish, names := range all {
		for _, name := range names {
			of[name] = wish
			of[m.normal(name)] = wish
			if bare, _, ok := cutArch(name); !ok {
				of[bare+":"+m.env.GrainsNow().Text("osarch")] = wish
			}
		}
	}
	return of, err
}

// wanted reads the wishes of a call.
func (m *module) wanted(ctx context.Context, a setSelectionsArgs) (map[string][]string, error) {
	if data.Truth(a.Path) && data.Truth(a.Selection) {
		return nil, loader.Invocation("The 'selection' and 'path' arguments to pkg.set_selections are mutually exclusive, and cannot be specified together")
	}
	var wanted map[string][]string
	var err error
	if data.Truth(a.Path) {
		wanted, err = m.selectionFile(ctx, a)
	} else {
		wanted, err = readSelection(a.Selection)
	}
	var bad []string
	for _, wish := range wishes(wanted) {
		if !slices.Contains([]string{"install", "hold", "deinstall", "purge"}, wish) {
			bad = append(bad, wish)
		}
	}
	if len(bad) > 0 {
		return nil, loader.Invocation("Invalid state(s): %s", strings.Join(bad, ", "))
	}
	return wanted, err
}

func (m *module) selectionFile(ctx context.Context, a setSelectionsArgs) (map[string][]string, error) {
	path, err := m.env.Call(ctx, "cp.cache_file", []any{a.Path, a.Saltenv}, nil)
	if err != nil {
		return nil, err
	}
	if !data.Truth(path) {
		return nil, loader.Execution("Unable to cache %s: file not found", data.Str(a.Path))
	}
	lines, err := os.ReadFile(data.Str(path))
	return parseSelections(string(lines)), loader.OSError(err)
}

// readSelection reads a dictionary of lists, which may be a text of YAML.
func readSelection(v any) (map[string][]string, error) {
	if source, ok := v.(string); ok {
		read, err := yaml.Load([]byte(source), yaml.Options{})
		if err != nil {
			return nil, loader.Invocation("Improperly-formatted selection: %v", err)
		}
		v = read
	}
	all, ok := v.(*data.Map)
	if !ok && data.Truth(v) {
		return nil, loader.Invocation("Improperly-formatted selection: %s", data.Str(v))
	}
	wanted := map[string][]string{}
	for wish, names := range all.All() {
		list, ok := names.([]any)
		if !ok {
			list = []any{names}
		}
		wanted[data.Str(wish)] = data.Texts(list)
	}
	return wanted, nil
}
