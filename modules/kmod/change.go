package kmod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type loadArgs struct {
	Mod     string
	Persist bool `default:"False"`
}

// load loads a module. It returns the modules that were loaded, or an error text.
//
// persist
//
//	True: also load it at boot.
//
// CLI Example:
//
//	salt '*' kmod.load kvm
func (m *module) load(ctx context.Context, a loadArgs) (any, error) {
	before, err := m.names(ctx, false)
	if err != nil {
		return nil, err
	}
	if output, err := m.run(ctx, "modprobe", a.Mod); err != nil || output != "" {
		return "Error loading module " + a.Mod + ": " + output, err
	}
	after, err := m.names(ctx, false)
	if err != nil {
		return nil, err
	}
	changed := less(after, before)
	if a.Persist {
		atBootModules, err := m.enableAtBoot(a.Mod)
		return sorted(append(changed, atBootModules...)), err
	}
	return sorted(changed), nil
}

type removeArgs struct {
	Mod     string
	Persist bool `default:"False"`
	Comment bool `default:"True"`
}

// remove unloads a module from the kernel. It returns the modules that were unloaded, or an error
// text.
//
// persist
//
//	True: also stop loading it at boot.
//
// comment
//
//	False: remove its line; otherwise comment it out.
//
// CLI Example:
//
//	salt '*' kmod.remove kvm
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	before, err := m.names(ctx, false)
	if err != nil {
		return nil, err
	}
	if slices.Contains(before, a.Mod) || !a.Persist {
		if output, err := m.run(ctx, "rmmod", a.Mod); err != nil || output != "" {
			return "Error removing module " + a.Mod + ": " + output, err
		}
	}
	after, err := m.names(ctx, false)
	if err != nil {
		return nil, err
	}
	changed := less(before, after)
	if a.Persist {
		dropped, err := m.disableAtBoot(a.Mod, a.Comment)
		return sorted(append(changed, dropped...)), err
	}
	return sorted(changed), nil
}

// less returns the elements of a that are not in b.
func less(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// sorted returns the names sorted, without duplicates.
func sorted(names []string) []any {
	list := []any{}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		list = append(list, name)
	}
	return list
}

// run runs a program with a module and returns its output if it fails.
func (m *module) run(ctx context.Context, name, mod string) (output string, err error) {
	path, err := program(name)
	if err != nil {
		return "", err
	}
	words := strings.Fields(mod)
	if err := process.Operands(words...); err != nil {
		return "", loader.Execution("%w", err)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{path}, words...)})
	if err != nil || ran.Retcode == 0 {
		return "", err
	}
	return cmp.Or(ran.Stderr, fmt.Sprintf("exit code %d", ran.Retcode)), nil
}

// file returns the path of the file that lists the modules to load at boot.
func (m *module) file() string {
	if m.env.GrainsNow().Has("systemd") {
		return m.at("/etc/modules-load.d/salt_managed.conf")
	}
	return m.at("/etc/modules")
}

// read returns the configuration, or "" if there is none.
func (m *module) read() (string, error) {
	src, err := os.ReadFile(m.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", loader.Execution("read the modules that are loaded at boot: %w", err)
	}
	return string(src), nil
}

func (m *module) write(text string) error {
	path := m.file()
	if err := atomicfile.Write(path, []byte(text),
		atomicfile.Options{Follow: true, Mode: 0o644, Keep: true}); err != nil {
		return loader.Execution("write the modules that are loaded at boot: %w", err)
	}
	return nil
}

// atBootModules returns the names of the modules that are loaded at boot.
func (m *module) atBootModules() ([]string, error) {
	text, err := m.read()
	var names []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			names = append(names, words[0])
		}
	}
	return names, err
}

// firstWord returns the module name in a line, which may be followed by parameters.
func firstWord(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// enableAtBoot makes a module load at boot and returns its name. It returns nothing if the module
// is listed already, or if there is none.
func (m *module) enableAtBoot(mod string) ([]string, error) {
	name := firstWord(mod)
	atBootModules, err := m.atBootModules()
	if err != nil || name == "" || slices.Contains(atBootModules, name) {
		return nil, err
	}
	if modules, err := m.modules(); err != nil || !slices.Contains(modules, name) {
		return nil, err
	}
	text, err := m.read()
	if err != nil {
		return nil, err
	}
	return []string{name}, m.write(with(text, mod))
}

// with returns the configuration with a module: its line is uncommented, or appended if there is
// none.
func with(text, mod string) string {
	var b strings.Builder
	found := false
	for line := range strings.Lines(text) {
		if body, ok := strings.CutPrefix(line, "#"); ok &&
			strings.TrimSpace(body) == strings.TrimSpace(mod) {
			found = true
			line = strings.TrimLeft(body, " \t")
		}
		b.WriteString(line)
	}
	if !found {
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(mod + "\n")
	}
	return b.String()
}

// disableAtBoot stops a module from being loaded at boot and returns its name. It returns nothing
// if the module is not listed.
func (m *module) disableAtBoot(mod string, comment bool) ([]string, error) {
	name := firstWord(mod)
	atBootModules, err := m.atBootModules()
	if err != nil || name == "" || !slices.Contains(atBootModules, name) {
		return nil, err
	}
	text, err := m.read()
	if err != nil {
		return nil, err
	}
	return []string{name}, m.write(without(text, mod, comment))
}

// without returns the configuration with a module commented out or removed.
func without(text, mod string, comment bool) string {
	var b strings.Builder
	wanted := strings.Join(strings.Fields(mod), " ")
	for line := range strings.Lines(text) {
		now := strings.Join(strings.Fields(line), " ")
		switch {
		case now != wanted && !strings.HasPrefix(now, wanted+" "):
			b.WriteString(line)
		case comment:
			b.WriteString("#" + line)
		}
	}
	return b.String()
}
