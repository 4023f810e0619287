package systemdservice

import (
	"context"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type enableArgs struct {
	Name          string
	NoBlock       bool      `default:"False"`
	Unmask        bool      `default:"False"`
	UnmaskRuntime bool      `default:"False"`
	Root          any       `default:"None"`
	Kwargs        *data.Map `kwargs:"kwargs"`
}

// enable makes a service start at boot. If that fails, the error is the message of systemctl.
//
// no_block : False
//
//	Do not wait for systemd.
//
// unmask, unmask_runtime : False
//
//	Remove the mask first: the permanent one, or the one until the next boot.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.enable nginx
func (m *module) enable(ctx context.Context, a enableArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	if err := m.removeMasks(ctx, a.Name, a.Unmask, a.UnmaskRuntime, a.Root); err != nil {
		return nil, err
	}
	if m.isScript(a.Root, a.Name) {
		return m.toggleScript(ctx, a.Name, []string{"defaults", "99"}, "on")
	}
	o, err := m.toggle(ctx, a.NoBlock, a.Root, "enable", a.Name)
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		return nil, loader.Execution("%s", withoutScope(o.Stderr))
	}
	return true, nil
}

type disableArgs struct {
	Name    string
	NoBlock bool      `default:"False"`
	Root    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// disable keeps a service from starting at boot and reports whether that worked.
//
// no_block : False
//
//	Do not wait for systemd.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.disable nginx
func (m *module) disable(ctx context.Context, a disableArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	if m.isScript(a.Root, a.Name) {
		return m.toggleScript(ctx, a.Name, []string{"remove"}, "off")
	}
	o, err := m.toggle(ctx, a.NoBlock, a.Root, "disable", a.Name)
	return err == nil && o.Retcode == 0, err
}

// toggle enables or disables a unit.
func (m *module) toggle(
	ctx context.Context, noBlock bool, root any, action, name string,
) (calls.Ran, error) {
	line, err := m.acting(ctx, noBlock, root, action, name)
	if err != nil {
		return calls.Ran{}, err
	}
	return m.quietly(ctx, line)
}

// toggleScript enables or disables a script: with update-rc.d and the arguments debian, or with
// chkconfig and the argument redHat.
func (m *module) toggleScript(
	ctx context.Context, name string, debian []string, redHat string,
) (any, error) {
	line, err := m.scope(ctx)
	if err != nil {
		return nil, err
	}
	if tool := process.Find("update-rc.d"); tool != "" {
		line = append(append(line, tool, "-f", name), debian...)
	} else if tool = process.Find("chkconfig"); tool != "" {
		line = append(line, tool, name, redHat)
	} else {
		return nil, loader.Execution("Unable to find sysv service manager (tried update-rc.d, chkconfig)")
	}
	o, err := m.quietly(ctx, line)
	return err == nil && o.Retcode == 0, err
}

type enabledArgs struct {
	Name   string
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// enabled reports whether a service starts at boot.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.enabled nginx
func (m *module) enabled(ctx context.Context, a enabledArgs) (any, error) {
	return m.on(ctx, a.Name, a.Root)
}

func (m *module) on(ctx context.Context, name string, root any) (bool, error) {
	o, err := m.quietly(ctx, append(systemctl(root, "is-enabled"), unitWords(name)...))
	switch {
	case err != nil:
		return false, err
	case o.Retcode == 0:
		return true, nil
	case strings.Contains(name, "@"):
		return m.linked(unitName(name)), nil
	case m.isScript(root, name):
		return m.scriptEnabled(ctx, name, root)
	}
	return false, nil
}

// linked reports whether an instance of a template is enabled. Older versions of systemd do not
// report that for templates.
func (m *module) linked(unit string) bool {
	found := false
	_ = filepath.WalkDir(m.at(nil, localUnits), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == unit && e.Type()&fs.ModeSymlink != 0 {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

type disabledArgs struct {
	Name string
	Root any `default:"None"`
}

// disabled reports whether a service does not start at boot.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.disabled nginx
func (m *module) disabled(ctx context.Context, a disabledArgs) (any, error) {
	on, err := m.on(ctx, a.Name, a.Root)
	return err == nil && !on, err
}

// scriptEnabled reports whether a script in /etc/init.d starts in the current runlevel.
func (m *module) scriptEnabled(ctx context.Context, name string, root any) (bool, error) {
	level, err := m.runlevel(ctx)
	if err != nil {
		return false, err
	}
	exact := regexp.MustCompile(`^S\d{0,2}` + regexp.QuoteMeta(name) + `$`)
	links, _ := filepath.Glob(m.at(root, "/etc/rc"+level+".d/S*"))
	for _, link := range links {
		if exact.MatchString(filepath.Base(link)) {
			return true, nil
		}
	}
	return false, nil
}

// runlevel returns the current runlevel, or else the default one.
func (m *module) runlevel(ctx context.Context) (string, error) {
	o, err := m.quietly(ctx, []string{program("runlevel")})
	if err != nil {
		return "", err
	}
	if words := strings.Fields(o.Stdout); len(words) > 1 {
		return words[1], nil
	}
	return m.defaultRunlevel(), nil
}

// defaultRunlevel returns the runlevel in /etc/init/rc-sysinit.conf, or 2 if that file sets none.
// If it does, /etc/inittab overrides it, and the kernel's command line overrides both.
func (m *module) defaultRunlevel() string {
	level := ""
	for line := range m.lines("/etc/init/rc-sysinit.conf") {
		if strings.HasPrefix(line, "env DEFAULT_RUNLEVEL") {
			level = strings.TrimSpace(line[strings.LastIndexByte(line, '=')+1:])
		}
	}
	if level == "" {
		return "2"
	}
	for line := range m.lines("/etc/inittab") {
		if fields := strings.Split(line, ":"); !strings.HasPrefix(line, "#") &&
			strings.Contains(line, "initdefault") && len(fields) > 1 {
			level = fields[1]
		}
	}
	for line := range m.lines("/proc/cmdline") {
		for word := range strings.FieldsSeq(line) {
			if strings.Contains(" 0 1 2 3 4 5 6 s S -s single ", " "+word+" ") {
				return word
			}
		}
	}
	return level
}
