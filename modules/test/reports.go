package test

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/version"
)

func (m *module) reports() []loader.Func {
	report := loader.F("versions_report", m.versionsReport)
	return []loader.Func{
		loader.F("version", m.version),
		report,
		report.Alias("versions"),
		loader.F("versions_information", m.versionsInformation),
		loader.F("provider", m.provider),
		loader.F("providers", m.providers),
		loader.F("not_loaded", m.notLoaded),
		loader.F("module_report", m.moduleReport),
		loader.F("stack", m.stack),
	}
}

// version returns the version of Salt that the minion reports.
//
// CLI Example:
//
//	salt '*' test.version
func (m *module) version(context.Context, loader.NoArgs) (any, error) { return version.Salt(), nil }

// versionsReport returns the versions of the minion's program, its components and the system as
// text.
//
// CLI Example:
//
//	salt '*' test.versions_report
func (m *module) versionsReport(context.Context, loader.NoArgs) (any, error) {
	return strings.TrimSuffix(version.Report(), "\n"), nil
}

// versionsInformation returns the versions of the minion's program, its components and the system
// as a dictionary.
//
// CLI Example:
//
//	salt '*' test.versions_information
func (m *module) versionsInformation(context.Context, loader.NoArgs) (any, error) {
	info, section := &data.Map{}, &data.Map{}
	for line := range strings.Lines(version.Report()) {
		if title, ok := strings.CutSuffix(line, ":\n"); ok && !strings.HasPrefix(line, " ") {
			section = &data.Map{}
			info.Set(title, section)
		} else if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			section.Set(name, value)
		}
	}
	return info, nil
}

type providerArgs struct{ Module string }

// provider returns the name of the plug-in that provides a module, "" if the module is not loaded.
//
// CLI Example:
//
//	salt '*' test.provider service
func (m *module) provider(_ context.Context, a providerArgs) (any, error) {
	return m.env.Functions.Provider(a.Module), nil
}

// providers returns the module that each plug-in provides, by the name of the plug-in.
//
// CLI Example:
//
//	salt '*' test.providers
func (m *module) providers(context.Context, loader.NoArgs) (any, error) {
	found := &data.Map{}
	for _, name := range m.env.Functions.Modules() {
		found.Set(m.env.Functions.Provider(name), name)
	}
	return found, nil
}

// notLoaded lists the plug-ins of this program that do not load on this system.
//
// CLI Example:
//
//	salt '*' test.not_loaded
func (m *module) notLoaded(context.Context, loader.NoArgs) (any, error) {
	var loaded []string
	for _, name := range m.env.Functions.Modules() {
		loaded = append(loaded, m.env.Functions.Provider(name))
	}
	missing := []any{}
	for _, file := range m.env.Functions.Files() {
		if !slices.Contains(loaded, file) {
			missing = append(missing, file)
		}
	}
	return missing, nil
}

// moduleReport lists all functions and the names by which they can be called.
//
// CLI Example:
//
//	salt '*' test.module_report
func (m *module) moduleReport(context.Context, loader.NoArgs) (any, error) {
	var functions []any
	for _, name := range m.env.Functions.Names() {
		functions = append(functions, name)
	}
	none := []any{}
	return data.NewMap("functions", functions, "function_attrs", none, "function_subs", none,
		"modules", none, "module_attrs", none, "missing_attrs", functions, "missing_subs",
		functions), nil
}

// stack returns the call stack of this function.
//
// CLI Example:
//
//	salt '*' test.stack
func (m *module) stack(context.Context, loader.NoArgs) (any, error) { return loader.Stack(), nil }
