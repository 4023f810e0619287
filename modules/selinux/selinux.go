// Package selinux is Salt's module selinux: the mode, the booleans, the modules and the policies of
// SELinux (salt/modules/selinux.py). It uses the programs semanage, semodule, setsebool and
// restorecon.
//
// mode.go has the mode, boolean.go the booleans, semodule.go the modules, fcontext.go the contexts
// of files and port.go those of ports.
//
// Differences from Salt: the output of semanage is searched here and not by grep, so a name is no
// part of a shell command. A context may have categories. The mode 1 or 0 is written to the
// configuration as well. Arguments that a program would read as options, and line ends, are refused.
// If the policy or the contexts of files cannot be read, that is an error and not an empty result.
package selinux

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module selinux. It loads only on Linux with the programs of SELinux.
func Plugin() loader.Plugin { return loader.Plugin{Name: "selinux", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	for _, name := range []string{"semanage", "setsebool", "semodule"} {
		if process.Find(name) == "" {
			return nil, errors.New(name + " is not in the path")
		}
	}
	if env.GrainsNow().Text("kernel") != "Linux" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("Module only works on Linux with selinux installed")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("fcontext_add_policy", m.fcontextAddPolicy),
		loader.F("fcontext_apply_policy", m.fcontextApplyPolicy),
		loader.F("fcontext_delete_policy", m.fcontextDeletePolicy),
		loader.F("fcontext_get_policy", m.fcontextGetPolicy),
		loader.F("fcontext_policy_is_applied", m.fcontextPolicyIsApplied),
		loader.F("filetype_id_to_string", m.filetypeIDToString),
		loader.F("getconfig", m.getconfig),
		loader.F("getenforce", m.getenforce),
		loader.F("getsebool", m.getsebool),
		loader.F("getsemod", m.getsemod),
		loader.F("install_semod", m.installSemod),
		loader.F("list_sebool", m.listSebool),
		loader.F("list_semod", m.listSemod),
		loader.F("port_add_policy", m.portAddPolicy),
		loader.F("port_delete_policy", m.portDeletePolicy),
		loader.F("port_get_policy", m.portGetPolicy),
		loader.F("remove_semod", m.removeSemod),
		loader.F("selinux_fs_path", m.selinuxFsPath),
		loader.F("setenforce", m.setenforce),
		loader.F("setsebool", m.setsebool),
		loader.F("setsebools", m.setsebools),
		loader.F("setsemod", m.setsemod),
	}}, nil
}

func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

type noArgs struct{}

// plain refuses words that a program would read as options, and those with a line end.
func plain(words ...string) error {
	if err := process.PlainOperands(words...); err != nil {
		return loader.Execution("%w", err)
	}
	return nil
}

// succeeds runs a program and reports whether it succeeded.
func (m *module) succeeds(ctx context.Context, argv ...string) (bool, error) {
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: argv})
}

// lines returns the output of a program by line. Its failure is an error.
func (m *module) lines(ctx context.Context, argv ...string) ([]string, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	if err == nil && ran.Retcode != 0 {
		err = failed(argv, ran)
	}
	return strings.Split(ran.Stdout, "\n"), err
}

// failed returns the error for a program that could not read what it was asked for.
func failed(argv []string, ran calls.Ran) error {
	return loader.Execution("%s: %s", strings.Join(argv, " "), strings.TrimSpace(ran.Stderr))
}
