// Package locale is Salt's module locale: the available locales and the system locale
// (salt/modules/localemod.py).
//
// Under systemd it uses localectl, elsewhere the configuration files of the system's family.
//
// Differences from Salt: systemd is queried only through localectl, not D-Bus; if localectl refuses
// to set the locale, as on Debian 13 and later, Debian's update-locale sets it; files are replaced
// atomically.
package locale

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module locale.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "locale", File: "localemod",
		New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.New("Cannot load locale module: windows platforms are unsupported") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("avail", m.avail),
		loader.F("gen_locale", m.genLocale),
		loader.F("get_locale", m.getLocale),
		loader.F("list_avail", m.listAvail),
		loader.F("set_locale", m.setLocale),
	}}, nil
}

func (m *module) at(path string) string { return filepath.Join("/", m.env.Root, path) }

func (m *module) family(name string) bool {
	return strings.Contains(m.env.GrainsNow().Text("os_family"), name)
}

// run runs a program and reports whether it succeeded.
func (m *module) run(ctx context.Context, argv ...string) (ran calls.Ran, ok bool, err error) {
	ran, err = calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	return ran, err == nil && ran.Retcode == 0, err
}

// usesLocalectl reports whether to use localectl. On SLES 12 it is not used because other programs
// overwrite its files.
func (m *module) usesLocalectl() bool {
	grains := m.env.GrainsNow()
	return systemd.Booted(m.env.Root) &&
		!(grains.Text("os_family") == "Suse" && data.Str(grains.Value("osmajorrelease")) == "12")
}

// listAvail returns the available locales.
//
// CLI Example:
//
//	salt '*' locale.list_avail
func (m *module) listAvail(ctx context.Context, _ loader.NoArgs) (any, error) {
	names, err := m.list(ctx)
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	return list, err
}

func (m *module) list(ctx context.Context) ([]string, error) {
	ran, _, err := m.run(ctx, "locale", "-a")
	return strings.Split(ran.Stdout, "\n"), err
}

// systemLocale returns the variables of the system locale from localectl, in their order.
func (m *module) systemLocale(ctx context.Context) (*data.Map, error) {
	if process.Find("localectl") == "" {
		return nil, loader.Execution("Unable to find \"localectl\"")
	}
	ran, _, err := m.run(ctx, "localectl", "status")
	if err != nil {
		return nil, err
	}
	sections := parseStatus(ran.Stdout)
	if sections.Len() == 0 {
		return nil, loader.Execution("Unable to parse result of \"localectl\"")
	}
	found, _ := sections.Value("system_locale").(*data.Map)
	if found == nil {
		found = &data.Map{}
	}
	return found, nil
}

// parseStatus parses the output of localectl status: sections with a name and a colon that contain
// variables or one value.
func parseStatus(text string) *data.Map {
	found := &data.Map{}
	section := ""
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		name, value, ok := strings.Cut(line, ": ")
		if ok {
			section = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
		} else {
			value = line
		}
		value = strings.TrimSpace(value)
		if value == "" || section == "" {
			continue
		}
		addValue(found, section, value)
	}
	return found
}

// addValue adds a value to its section.
func addValue(found *data.Map, section, value string) {
	key, v, ok := strings.Cut(value, "=")
	if !ok {
		var only any = value
		if value == "n/a" {
			only = nil
		}
		found.Set(section, data.NewMap("data", only))
		return
	}
	if !found.Has(section) {
		found.Set(section, &data.Map{})
	}
	if !strings.Contains(v, "=") {
		found.Value(section).(*data.Map).Set(key, v)
	}
}

// A place is the configuration file and variable for the locale in a family of systems.
type place struct{ file, begin string }

func (m *module) place() (place, bool) {
	switch {
	case m.family("Suse"):
		return place{"/etc/sysconfig/language", "RC_LANG="}, true
	case m.family("RedHat"):
		return place{"/etc/sysconfig/i18n", "LANG="}, true
	case m.family("Debian"):
		return place{"/etc/default/locale", "LANG="}, true
	}
	return place{}, false
}

// These are grep's return codes. Salt reads the file with grep, so the job gets them.
const (
	noLine = 1
	noFile = 2
)

// getLocale returns the system locale. If the system's files do not set one, it returns an empty
// string, and salt-call exits with 1.
//
// CLI Example:
//
//	salt '*' locale.get_locale
func (m *module) getLocale(ctx context.Context, _ loader.NoArgs) (any, error) {
	if m.usesLocalectl() {
		found, err := m.systemLocale(ctx)
		if v, ok := found.Get("LANG"); ok {
			return v, err
		}
		return "", err
	}
	if m.family("Gentoo") {
		ran, _, err := m.run(ctx, "eselect", "--brief", "locale", "show")
		return strings.TrimSpace(ran.Stdout), err
	}
	p, ok := m.place()
	if !ok {
		return nil, loader.Execution("Error: \"%s\" is unsupported!",
			m.env.GrainsNow().Text("oscodename"))
	}
	job := loader.ContextOf(ctx)
	src, err := os.ReadFile(m.at(p.file))
	switch {
	case errors.Is(err, os.ErrNotExist):
		job.SetRetcode(noFile)
		return "", nil
	case err != nil:
		return nil, loader.Execution("read the system's locale: %w", err)
	}
	for line := range strings.Lines(string(src)) {
		if value, ok := strings.CutPrefix(line, p.begin); ok {
			job.SetRetcode(0)
			return strings.ReplaceAll(strings.TrimSpace(value), `"`, ""), nil
		}
	}
	job.SetRetcode(noLine)
	return "", nil
}

type localeArgs struct{ Locale string }

// setLocale sets the system locale, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' locale.set_locale 'en_US.UTF-8'
func (m *module) setLocale(ctx context.Context, a localeArgs) (any, error) {
	if m.usesLocalectl() {
		return m.setLang(ctx, a.Locale)
	}
	if m.family("Gentoo") {
		_, ok, err := m.run(ctx, "eselect", "--brief", "locale", "set", a.Locale)
		return ok, err
	}
	p, ok := m.place()
	if !ok {
		return nil, loader.Execution("Error: Unsupported platform!")
	}
	if m.family("Debian") {
		update := process.Find("update-locale")
		if update == "" {
			return nil, loader.Execution("Cannot set locale: \"update-locale\" was not found.")
		}
		if _, _, err := m.run(ctx, update); err != nil {
			return nil, err
		}
	}
	if err := m.edit(p.file, func(text string) string { return with(text, p.begin, p.begin+`"`+a.Locale+`"`) }); err != nil {
		return nil, err
	}
	return true, nil
}

// setLang sets LANG with localectl; the other variables stay unchanged. Debian forbids this to
// localectl since version 13 (in systemd-localed-read-only.conf of D-Bus); there, update-locale
// sets locales.
func (m *module) setLang(ctx context.Context, locale string) (any, error) {
	found, err := m.systemLocale(ctx)
	if err != nil {
		return nil, err
	}
	found.Set("LANG", locale)
	line := []string{"localectl", "set-locale"}
	for name, v := range found.All() {
		if v != nil && name != "data" {
			line = append(line, data.Str(name)+"="+data.Str(v))
		}
	}
	_, ok, err := m.run(ctx, line...)
	if update := process.Find("update-locale"); !ok && err == nil && update != "" &&
		m.family("Debian") {
		_, ok, err = m.run(ctx, update, "LANG="+locale)
	}
	return ok, err
}

// with returns the text with a line in place of those that begin with a prefix, or at its end.
func with(text, begin, line string) string {
	var b strings.Builder
	found := false
	for old := range strings.Lines(text) {
		if strings.HasPrefix(old, begin) {
			found, old = true, line+"\n"
		}
		b.WriteString(old)
	}
	if !found {
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// edit changes the content of a file if change returns something different.
func (m *module) edit(file string, change func(string) string) error {
	path := m.at(file)
	src, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return loader.Execution("read %s: %w", file, err)
	}
	text := change(string(src))
	if err == nil && text == string(src) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return loader.Execution("write %s: %w", file, err)
	}
	if err := atomicfile.Write(path, []byte(text),
		atomicfile.Options{Follow: true, Mode: 0o644, Keep: true}); err != nil {
		return loader.Execution("write %s: %w", file, err)
	}
	return nil
}

// avail returns whether a locale is available.
//
// CLI Example:
//
//	salt '*' locale.avail 'en_US.UTF-8'
func (m *module) avail(ctx context.Context, a localeArgs) (any, error) {
	names, err := m.list(ctx)
	want := parse(a.Locale).normal()
	return slices.ContainsFunc(names,
		func(name string) bool { return parse(strings.TrimSpace(name)).normal() == want }), err
}
