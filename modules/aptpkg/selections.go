package aptpkg

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/yaml"
)

type selectionsArgs struct {
	Pattern any `default:"None"`
	State   any `default:"None"`
}

// getSelections returns the selection states of packages: lists of names under install, hold,
// deinstall and purge.
//
// pattern
//
//	Only packages whose names match.
//
// state
//
//	Only packages in this state.
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
		selection := data.Str(a.State)
		return data.NewMap(selection, data.Values(all[selection])), nil
	}
	out := &data.Map{}
	for _, selection := range selectionNames(all) {
		out.Set(selection, data.Values(all[selection]))
	}
	return out, nil
}

func selectionNames(all map[string][]string) []string {
	var names []string
	for selection := range all {
		names = append(names, selection)
	}
	slices.Sort(names)
	return names
}

// selections returns the names of packages by selection state.
func (m *module) selections(ctx context.Context, pattern string) (map[string][]string, error) {
	if pattern == "" {
		pattern = "*"
	}
	if err := packages.Names(pattern); err != nil {
		return nil, err
	}
	o, err := packages.Run(ctx, m.env, packages.Quietly(), "dpkg", "--get-selections", pattern)
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 && !strings.Contains(o.Stderr, "no packages found") {
		return nil, loader.Execution("Unable to list the selections of dpkg: %s", failure(o))
	}
	return parseSelections(o.Stdout), nil
}

// parseSelections parses lines of a name and a state.
func parseSelections(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		if cols := strings.Fields(line); len(cols) == 2 {
			all[cols[1]] = append(all[cols[1]], cols[0])
		}
	}
	return all
}

// setSelection sets the selection state of packages.
func (m *module) setSelection(ctx context.Context, names []string, selection string) error {
	if len(names) == 0 {
		return nil
	}
	if err := packages.Names(names...); err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range names {
		lines.WriteString(name + " " + selection + "\n")
	}
	o, err := m.apt(ctx, calls.Run{Stdin: lines.String()}, "dpkg", "--set-selections")
	forget(ctx)
	if err == nil && o.Retcode != 0 {
		err = loader.Execution("Unable to set the selection %s for %s: %s", selection,
			strings.Join(names, ", "), failure(o))
	}
	return err
}

type setSelectionsArgs struct {
	Path      any    `default:"None"`
	Selection any    `default:"None"`
	Clear     bool   `default:"False"`
	Saltenv   string `default:"'base'"`
}

// setSelections sets the selection states of packages. It returns the states that changed.
//
// path
//
//	A local path or URL of a file with lines of a name and one of install, hold, deinstall and
//	purge.
//
// selection
//
//	Instead of path: a dictionary with lists of names under these states.
//
// clear : False
//
//	First mark all packages for removal.
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
		o, err := m.apt(ctx, calls.Run{}, "dpkg", "--clear-selections")
		if err != nil {
			return nil, err
		}
		if o.Retcode != 0 {
			return nil, loader.Execution("Running dpkg --clear-selections failed: %s", o.Stderr)
		}
	}
	if testing {
		return &data.Map{}, nil
	}
	return m.applySelections(ctx, wanted)
}

// testing reports whether nothing may be written.
func (m *module) testing(ctx context.Context) bool {
	return change.Test(ctx) || data.Truth(m.env.Option("test"))
}

// applySelections sets the states that differ from wanted, and returns those that dpkg accepted.
func (m *module) applySelections(
	ctx context.Context, wanted map[string][]string,
) (*data.Map, error) {
	before, err := m.selectionStates(ctx)
	if err != nil {
		return nil, err
	}
	for _, selection := range selectionNames(wanted) {
		var others []string
		for _, name := range wanted[selection] {
			if before[name] != selection {
				others = append(others, name)
			}
		}
		if err := m.setSelection(ctx, others, selection); err != nil {
			m.env.Log.Error(err.Error())
		}
	}
	after, err := m.selectionStates(ctx)
	if err != nil {
		return nil, err
	}
	changes := &data.Map{}
	for _, selection := range selectionNames(wanted) {
		for _, name := range wanted[selection] {
			if after[name] == selection && before[name] != selection {
				changes.Set(name, data.NewMap("old", orNone(before[name]), "new", selection))
			}
		}
	}
	return changes, nil
}

func orNone(selection string) any {
	if selection == "" {
		return nil
	}
	return selection
}

// selectionStates returns the state of each package. Packages of the host's own architecture are
// listed under both of their names.
func (m *module) selectionStates(ctx context.Context) (map[string]string, error) {
	all, err := m.selections(ctx, "")
	of := map[string]string{}
	for selection, names := range all {
		for _, name := range names {
			of[name] = selection
			of[m.normal(name)] = selection
			if bare, _, ok := cutArch(name); !ok {
				of[bare+":"+m.env.GrainsNow().Text("osarch")] = selection
			}
		}
	}
	return of, err
}

// wanted returns the states that a call requests.
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
	for _, selection := range selectionNames(wanted) {
		if !slices.Contains([]string{"install", "hold", "deinstall", "purge"}, selection) {
			bad = append(bad, selection)
		}
	}
	if len(bad) > 0 {
		return nil, loader.Invocation("Invalid state(s): %s", strings.Join(bad, ", "))
	}
	return wanted, err
}

func (m *module) selectionFile(
	ctx context.Context, a setSelectionsArgs,
) (map[string][]string, error) {
	path, err := packages.Fetched(ctx, m.env, a.Path, a.Saltenv)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, loader.Execution("Unable to cache %s: file not found", data.Str(a.Path))
	}
	lines, err := os.ReadFile(path)
	return parseSelections(string(lines)), loader.OSError(err)
}

// readSelection reads a dictionary of lists, which may be given as YAML.
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
	for selection, names := range all.All() {
		list, ok := names.([]any)
		if !ok {
			list = []any{names}
		}
		wanted[data.Str(selection)] = data.Texts(list)
	}
	return wanted, nil
}
