package selinux

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type moduleArgs struct {
	Name        string
	ModuleState any       `default:"'Enabled'"`
	Version     any       `default:"'any'"`
	Kwargs      *data.Map `kwargs:"opts"`
}

// module enables or disables a module of SELinux.
//
// module_state
//
//	Enabled or Disabled.
//
// version
//
//	The version that the module must have. Default: any.
//
// install, source
//
//	True: install the module first, from the file source.
//
// remove
//
//	True: remove the module instead.
//
//	nagios:
//	  selinux.module:
//	    - module_state: Enabled
func (m *module) module(ctx context.Context, a moduleArgs) (change.Result, error) {
	install, remove := data.Truth(a.Kwargs.Value("install")), data.Truth(a.Kwargs.Value("remove"))
	switch {
	case install && remove:
		return change.Refuse(a.Name, "Cannot install and remove at the same time")
	case remove:
		return m.moduleRemove(ctx, nameArgs{a.Name})
	case !install:
		return m.toggled(ctx, a.Name, a)
	}
	source := a.Name
	if a.Kwargs.Has("source") {
		source = data.Str(a.Kwargs.Value("source"))
	}
	installed, err := m.moduleInstall(ctx, nameArgs{source})
	if err != nil || installed.Verdict != change.Success {
		return installed, err
	}
	return m.toggled(ctx, source, a)
}

// toggled enables or disables an existing module.
func (m *module) toggled(ctx context.Context, name string, a moduleArgs) (change.Result, error) {
	to := switchOf(a.ModuleState, "enabled", "disabled")
	word := data.Str(a.ModuleState)
	return change.Thing[string]{
		Name: name,
		Look: func(ctx context.Context) (string, error) {
			its, err := m.semodule(ctx, a.Name)
			if err != nil {
				return "", err
			}
			if to == "" {
				return "", change.Reason(word + " is not a valid state for the " + a.Name + " module.")
			}
			if version := its.Value("Version"); a.Version != "any" && !data.Equal(version, a.Version) {
				return "", change.Reason("Module version is " + data.Str(version) +
					" and does not match the desired version of " + data.Str(a.Version) +
					" or you are using semodule >= 2.4")
			}
			return switchOf(its.Value("Enabled"), "enabled", "disabled"), nil
		},
		Wants: func(now string) *data.Map { return change.When(now != to, data.NewMap(a.Name, to)) },
		Apply: func(ctx context.Context, _ string) error {
			_, err := m.is(ctx, "setsemod", a.Name, to)
			return err
		},
		Changed: func(string, string) *data.Map { return nil },
		Silent:  true,
		Texts: change.Texts{
			Same:   "Module " + a.Name + " is in the desired state",
			Would:  "Module " + a.Name + " is set to be toggled to " + word,
			Done:   "Module " + a.Name + " has been set to " + word,
			Failed: "Failed to set the Module " + a.Name + " to " + word,
		},
	}.Ensure(ctx)
}

// semodule returns the values of a module. One that does not exist is an error that fails the state.
func (m *module) semodule(ctx context.Context, name string) (*data.Map, error) {
	all, err := m.table(ctx, "list_semod", nil)
	its, there := all.Value(name).(*data.Map)
	if err == nil && !there {
		err = change.Reason("Module " + name + " is not available")
	}
	return its, err
}

type nameArgs struct{ Name string }

// moduleInstall installs a module of SELinux from a file.
//
// name
//
//	A path on the minion, or salt:// and a path on the file server.
//
//	/root/my.pp:
//	  selinux.module_install
func (m *module) moduleInstall(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.effect(ctx, a.Name, "install_semod", change.Texts{
		Would:  "Module " + a.Name + " is set to be installed",
		Done:   "Module " + a.Name + " has been installed",
		Failed: "Failed to install module " + a.Name,
	})
}

// moduleRemove removes a module of SELinux. It fails if there is no such module.
//
//	my:
//	  selinux.module_remove
func (m *module) moduleRemove(ctx context.Context, a nameArgs) (change.Result, error) {
	if _, err := m.semodule(ctx, a.Name); err != nil {
		return change.Thing[bool]{Name: a.Name,
			Look: func(context.Context) (bool, error) { return false, err }}.Ensure(ctx)
	}
	return m.effect(ctx, a.Name, "remove_semod", change.Texts{
		Would:  "Module " + a.Name + " is set to be removed",
		Done:   "Module " + a.Name + " has been removed",
		Failed: "Failed to remove module " + a.Name,
	})
}

// effect calls a function that tells whether it succeeded, which is all that is known then.
func (m *module) effect(ctx context.Context, name, fun string, texts change.Texts) (change.Result, error) {
	return change.Thing[bool]{
		Name:  name,
		Look:  func(context.Context) (bool, error) { return false, nil },
		Wants: func(bool) *data.Map { return data.NewMap(name, fun) },
		Apply: func(ctx context.Context, _ bool) error {
			done, err := m.is(ctx, fun, name)
			if err == nil && !done {
				err = change.Reason(texts.Failed)
			}
			return err
		},
		Changed: func(bool, bool) *data.Map { return nil },
		Silent:  true,
		Trust:   true,
		Texts:   texts,
	}.Ensure(ctx)
}
