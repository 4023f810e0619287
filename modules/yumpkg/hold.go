package yumpkg

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// plugin returns the package of the plug-in that holds packages, "" if the program has that built
// in.
func (m *module) plugin() (string, error) {
	grains := m.env.GrainsNow()
	release := func(name string) int {
		n, _ := strconv.Atoi(data.Str(grains.Value(name)))
		return n
	}
	switch {
	case m.program == "dnf5":
		return "", nil
	case m.program == "tdnf":
		return "", loader.Invocation("Cannot proceed, no versionlock for tdnf")
	case m.program == "yum" && release("osmajorrelease") == 5:
		return "yum-versionlock", nil
	case m.program == "yum":
		return "yum-plugin-versionlock", nil
	case strings.EqualFold(grains.Text("os"), "fedora") && release("osrelease") < 26:
		return "python3-dnf-plugins-extras-versionlock", nil
	case strings.EqualFold(grains.Text("os"), "fedora") || release("osmajorrelease") >= 8:
		return "python3-dnf-plugin-versionlock", nil
	}
	return "python2-dnf-plugin-versionlock", nil
}

// needPlugin returns an error if packages cannot be held.
func (m *module) needPlugin(ctx context.Context) error {
	name, err := m.plugin()
	if err != nil || name == "" {
		return err
	}
	all, err := m.all(ctx, true)
	if err == nil && !all.Has(name) {
		err = loader.Invocation("Cannot proceed, %s is not installed.", name)
	}
	return err
}

// holdPattern matches a package name in the list of holds.
const holdPattern = `[\w+]+(?:[.-][^-]+)*`

type listHoldsArgs struct {
	Pattern any `default:"'[\\w+]+(?:[.-][^-]+)*'"`
	Full    any `default:"True"`
}

// listHolds returns the held packages.
//
// pattern
//
//	A regular expression for names.
//
// full : True
//
//	False: only names, without versions.
//
// CLI Example:
//
//	salt '*' pkg.list_holds full=False
func (m *module) listHolds(ctx context.Context, a listHoldsArgs) (any, error) {
	holds, err := m.heldAs(ctx, data.Str(a.Pattern), data.Truth(a.Full))
	return data.Values(holds), err
}

func (m *module) held(ctx context.Context, full bool) ([]string, error) {
	return m.heldAs(ctx, holdPattern, full)
}

func (m *module) heldAs(ctx context.Context, pattern string, full bool) ([]string, error) {
	if err := m.needPlugin(ctx); err != nil {
		return nil, err
	}
	lock, err := lockOf(pattern, m.dnf(), full)
	if err != nil {
		return nil, err
	}
	text, err := m.output(ctx, m.program, "versionlock", "list")
	var holds []string
	for line := range strings.SplitSeq(text, "\n") {
		if name, ok := strings.CutPrefix(line, "Package name: "); ok && m.program == "dnf5" {
			holds = append(holds, strings.TrimSpace(name))
		} else if match := lock.FindStringSubmatch(line); match != nil && m.program != "dnf5" {
			holds = append(holds, heldName(match[1], full))
		}
	}
	return holds, err
}

// lockOf returns a regular expression that finds a package in the list of holds:
// 2:vim-enhanced-7.4.629-5.el6.* of yum, and vim-enhanced-2:7.4.827-1.fc22.* of dnf.
func lockOf(pattern string, dnf, full bool) (*regexp.Regexp, error) {
	expr := `(\d+:` + pattern + `-\S+)`
	switch {
	case dnf:
		expr = `(` + pattern + `-\S+)`
	case !full:
		expr = `\d+:(` + pattern + `-\S+)`
	}
	lock, err := regexp.Compile(expr)
	if err != nil {
		return nil, loader.Execution("parse the pattern of holds: %w", err)
	}
	return lock, nil
}

// heldName returns a held package, or its name without architecture, release and version.
func heldName(text string, full bool) string {
	if full {
		return text
	}
	for _, mark := range []string{".", "-", "-"} {
		if i := strings.LastIndex(text, mark); i >= 0 {
			text = text[:i]
		}
	}
	return text
}

type holdArgs struct {
	Name      any       `default:"None"`
	Pkgs      any       `default:"None"`
	Sources   any       `default:"None"`
	Normalize any       `default:"True"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

type unholdArgs struct {
	Name    any       `default:"None"`
	Pkgs    any       `default:"None"`
	Sources any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// hold keeps packages at their current versions, and returns the result for each package.
//
// name, pkgs
//
//	The package, or a list of packages.
//
// CLI Example:
//
//	salt '*' pkg.hold pkgs='["foo", "bar"]'
func (m *module) hold(ctx context.Context, a holdArgs) (any, error) {
	names, err := m.toHold(ctx, a.Name, a.Pkgs, a.Sources)
	if err != nil {
		return nil, err
	}
	holds, err := m.held(ctx, false)
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	for _, name := range names {
		one, err := m.holdOne(ctx, name, slices.Contains(holds, name))
		if err != nil {
			return nil, err
		}
		ret.Set(name, one)
	}
	return ret, nil
}

func (m *module) holdOne(ctx context.Context, name string, held bool) (*data.Map, error) {
	switch {
	case held:
		return holdResult(name, true, nil, "Package "+name+" is already set to be held."), nil
	case m.env.Option("test") == true:
		return holdResult(name, nil, nil, "Package "+name+" is set to be held."), nil
	}
	if err := packages.Names(name); err != nil {
		return nil, err
	}
	args := []any{"versionlock", name}
	if m.program == "dnf5" {
		args = []any{"versionlock", "add", name}
	}
	out, err := m.yum(ctx, calls.Run{}, args...)
	if err != nil || out.Retcode != 0 {
		return holdResult(name, false, nil, "Package "+name+" was unable to be held."), err
	}
	return holdResult(name, true, data.NewMap("new", "hold", "old", ""), "Package "+name+
		" is now being held."), nil
}

func holdResult(name string, result any, changes *data.Map, comment string) *data.Map {
	if changes == nil {
		changes = &data.Map{}
	}
	return data.NewMap("name", name, "changes", changes, "result", result, "comment", comment)
}

// toHold returns the names of the packages to hold or release.
func (m *module) toHold(ctx context.Context, name, pkgs, sources any) ([]string, error) {
	if err := m.needPlugin(ctx); err != nil {
		return nil, err
	}
	switch {
	case !data.Truth(name) && !data.Truth(pkgs) && !data.Truth(sources):
		return nil, loader.Invocation("One of name, pkgs, or sources must be specified.")
	case data.Truth(pkgs) && data.Truth(sources):
		return nil, loader.Invocation("Only one of pkgs or sources can be specified.")
	case data.Truth(pkgs):
		return namesIn(pkgs), nil
	case data.Truth(sources):
		return namesIn(sources), nil
	}
	return []string{data.Str(name)}, nil
}

// namesIn returns the names in a list of names and of dictionaries of names.
func namesIn(v any) []string {
	var names []string
	for _, e := range listOf(v) {
		if one, ok := e.(*data.Map); ok && one.Len() > 0 {
			e, _ = one.At(0)
		}
		names = append(names, data.Str(e))
	}
	return names
}

// unhold allows packages to change versions again, and returns the result for each package.
//
// name, pkgs
//
//	The package, or a list of packages.
//
// CLI Example:
//
//	salt '*' pkg.unhold pkgs='["foo", "bar"]'
func (m *module) unhold(ctx context.Context, a unholdArgs) (*data.Map, error) {
	names, err := m.toHold(ctx, a.Name, a.Pkgs, a.Sources)
	if err != nil {
		return nil, err
	}
	holds, err := m.held(ctx, m.program == "yum")
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	for _, name := range names {
		one, err := m.unholdOne(ctx, name, m.locksOf(name, holds))
		if err != nil {
			return nil, err
		}
		ret.Set(name, one)
	}
	return ret, nil
}

// locksOf returns the program's names for the holds of a package.
func (m *module) locksOf(name string, holds []string) (locks []any) {
	for _, h := range holds {
		bare := h
		if m.program == "yum" {
			_, rest, _ := strings.Cut(h, ":")
			bare = heldName(rest, false)
		}
		if bare == name {
			locks = append(locks, h)
		}
	}
	return locks
}

func (m *module) unholdOne(ctx context.Context, name string, locks []any) (*data.Map, error) {
	switch {
	case len(locks) == 0:
		return holdResult(name, true, nil, "Package "+name+" is not being held."), nil
	case m.env.Option("test") == true:
		return holdResult(name, nil, nil, "Package "+name+" is set to be unheld."), nil
	}
	out, err := m.yum(ctx, calls.Run{}, append([]any{"versionlock", "delete"}, locks...)...)
	if err != nil || out.Retcode != 0 {
		return holdResult(name, false, nil, "Package "+name+" was unable to be unheld."), err
	}
	return holdResult(name, true, data.NewMap("new", "", "old", "hold"), "Package "+name+
		" is no longer held."), nil
}
