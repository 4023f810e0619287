// Package selinux is Salt's state selinux: the mode, the booleans, the modules and the policies of
// SELinux (salt/states/selinux.py). It uses the module selinux.
//
// Differences from Salt: test mode installs and removes no module. The mode disabled is reached when
// it is configured and nothing is enforced, since the rest needs a reboot. A boolean reports only
// the values that changed. A failed fcontext_policy_absent reports no change. An invalid state of a
// module is reported with the module's name.
//
// As in Salt, module_install installs its file in each run, and reports no changes.
package selinux

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state selinux. It loads only if the module selinux does.
func Plugin() loader.Plugin { return loader.Plugin{Name: "selinux", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("selinux.getenforce") {
		return nil, errors.New("selinux module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("boolean", m.boolean),
		loader.F("fcontext_policy_absent", m.fcontextPolicyAbsent),
		loader.F("fcontext_policy_applied", m.fcontextPolicyApplied),
		loader.F("fcontext_policy_present", m.fcontextPolicyPresent),
		loader.F("mode", m.mode),
		loader.F("module", m.module),
		loader.F("module_install", m.moduleInstall),
		loader.F("module_remove", m.moduleRemove),
		loader.F("port_policy_absent", m.portPolicyAbsent),
		loader.F("port_policy_present", m.portPolicyPresent),
	}}, nil
}

// is calls a function that returns a boolean.
func (m *module) is(ctx context.Context, fun string, args ...any) (bool, error) {
	return change.Ask[bool](ctx, m.env, "selinux."+fun, args, nil)
}

// table calls a function that returns a dictionary, or None, which is nil here.
func (m *module) table(ctx context.Context, fun string, kwargs *data.Map) (*data.Map, error) {
	found, err := calls.Found[*data.Map](ctx, m.env, "selinux."+fun, nil, kwargs)
	return found, change.Except(err, loader.KindExecution)
}

// act calls a function that returns the result of a program, and turns its failure into a reason
// with the program's result.
func (m *module) act(ctx context.Context, failure, fun string, kwargs *data.Map) error {
	ran, err := m.table(ctx, fun, kwargs)
	if err == nil && !data.Equal(ran.Value("retcode"), int64(0)) {
		err = change.Reason(failure + ": " + data.Repr(ran))
	}
	return err
}

type modeArgs struct{ Name any }

// mode sets the mode of SELinux, now and for the next boot. A change from or to disabled needs a
// reboot.
//
// name
//
//	enforcing, permissive or disabled.
//
//	enforcing:
//	  selinux.mode
func (m *module) mode(ctx context.Context, a modeArgs) (change.Result, error) {
	to := modeOf(strings.ToLower(data.Str(a.Name)))
	if to == "" {
		return change.Refuse(a.Name, data.Str(a.Name)+" is not an accepted mode")
	}
	type state struct {
		now  string
		next any // the configured mode
	}
	return change.Thing[state]{
		Name: a.Name,
		Look: func(ctx context.Context) (s state, err error) {
			if s.now, err = change.Ask[string](ctx, m.env, "selinux.getenforce", nil, nil); err == nil {
				s.next, err = change.Ask[any](ctx, m.env, "selinux.getconfig", nil, nil)
			}
			return s, err
		},
		Wants: func(s state) *data.Map {
			switch {
			case s.now == to && s.next == to, to == "Disabled" && s.next == to && s.now != "Enforcing":
				return nil
			case s.now == to:
				return change.OldNew(s.next, to)
			}
			return change.OldNew(s.now, to)
		},
		Apply: func(ctx context.Context, _ state) error {
			return change.Do(ctx, m.env, "selinux.setenforce", []any{to}, nil)
		},
		Changed: func(before, after state) *data.Map {
			old := any(before.now)
			if before.now == to {
				old = before.next
			}
			return change.When(before != after, change.OldNew(old, after.now))
		},
		Texts: change.Texts{
			Same:   "SELinux is already in " + to + " mode",
			Would:  "SELinux mode is set to be changed to " + to,
			Done:   "SELinux has been set to " + to + " mode",
			Failed: "Failed to set SELinux to " + to + " mode",
		},
	}.Ensure(ctx)
}

// modeOf returns the mode that a word stands for, "" for none.
func modeOf(word string) string {
	switch {
	case strings.HasPrefix(word, "e"), word == "1", word == "on":
		return "Enforcing"
	case strings.HasPrefix(word, "p"), word == "0", word == "off":
		return "Permissive"
	case strings.HasPrefix(word, "d"):
		return "Disabled"
	}
	return ""
}

type booleanArgs struct {
	Name    string
	Value   any
	Persist any `default:"False"`
}

// boolean sets a boolean of SELinux.
//
// persist
//
//	True: also for the next boot.
//
//	httpd_can_network_connect:
//	  selinux.boolean:
//	    - value: on
//	    - persist: True
func (m *module) boolean(ctx context.Context, a booleanArgs) (change.Result, error) {
	to := switchOf(a.Value, "on", "off")
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			all, err := m.table(ctx, "list_sebool", nil)
			its, there := all.Value(a.Name).(*data.Map)
			switch {
			case err != nil:
				return nil, err
			case !there:
				return nil, change.Reason("Boolean " + a.Name + " is not available")
			case to == "":
				return nil, change.Reason(data.Str(a.Value) + " is not a valid value for the boolean")
			}
			return its, nil
		},
		Wants: func(now *data.Map) *data.Map {
			changes := data.NewMap()
			for _, key := range []string{"State", "Default"} {
				if now.Text(key) != to && (key == "State" || data.Truth(a.Persist)) {
					changes.Set(key, change.OldNew(now.Value(key), to))
				}
			}
			return changes
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			_, err := m.is(ctx, "setsebool", a.Name, to, a.Persist)
			return err
		},
		Silent: true,
		Texts: change.Texts{
			Same:   "Boolean is in the correct state",
			Would:  "Boolean " + a.Name + " is set to be changed to " + to,
			Done:   "Boolean " + a.Name + " has been set to " + to,
			Failed: "Failed to set the boolean " + a.Name + " to " + to,
		},
	}.Ensure(ctx)
}

// switchOf returns on or off for the words that mean them, "" for others. The words on and off may
// be replaced by others.
func switchOf(v any, on, off string) string {
	switch word := strings.ToLower(data.Str(v)); word {
	case "1", "on", "yes", "true", on:
		return on
	case "0", "off", "no", "false", off:
		return off
	}
	return ""
}
