// Package tuned is Salt's module tuned: profiles of the daemon TuneD, by its program tuned-adm
// (salt/modules/tuned.py).
package tuned

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module tuned. It is available on hosts with the program tuned-adm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "tuned", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("tuned-adm") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The tuned execution module failed to load: " +
			"the tuned-adm binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("active", m.active),
		loader.F("list", m.list).Def("list_"),
		loader.F("off", m.off),
		loader.F("profile", m.profile),
	}}, nil
}

type noArgs struct{}

// list returns the names of the profiles.
//
// CLI Example:
//
//	salt '*' tuned.list
func (m *module) list(ctx context.Context, _ noArgs) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"tuned-adm", "list"}})
	if err == nil && ran.Retcode != 0 {
		err = failed(ran, "list")
	}
	return profiles(ran.Stdout), err
}

// failed returns the error for a command of tuned-adm that ends with a code.
func failed(ran calls.Ran, command string) error {
	return loader.Execution("tuned-adm %s: code %d: %s", command, ran.Retcode,
		strings.TrimSpace(ran.Stdout+"\n"+ran.Stderr))
}

// profiles reads lines such as - balanced - a description.
func profiles(text string) []any {
	names := []any{}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "** COLLECTED WARNINGS") {
			break
		}
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			name, _, _ := strings.Cut(item, "- ")
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// active returns the name of the active profile, and none if there is none. If tuned-adm cannot tell, that
// is an error.
//
// CLI Example:
//
//	salt '*' tuned.active
func (m *module) active(ctx context.Context, _ noArgs) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"tuned-adm", "active"},
		IgnoreRetcode: true})
	if err != nil {
		return nil, err
	}
	name, ok := strings.CutPrefix(ran.Stdout, "Current active profile: ")
	name, _, _ = strings.Cut(name, "\n")
	all := ran.Stdout + "\n" + ran.Stderr
	switch {
	case ok && ran.Retcode == 0:
		return name, nil
	case strings.Contains(all, "No current active profile"), strings.Contains(all, "profile is not activated"):
		return "none", nil
	}
	return nil, failed(ran, "active")
}

// off makes TuneD use no profile, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' tuned.off
func (m *module) off(ctx context.Context, _ noArgs) (any, error) {
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: []string{"tuned-adm", "off"}})
}

type profileArgs struct {
	ProfileName string `name:"profile_name"`
}

// profile activates a profile. It returns its name, or False if that failed.
//
// CLI Example:
//
//	salt '*' tuned.profile virtual-guest
func (m *module) profile(ctx context.Context, a profileArgs) (any, error) {
	if err := process.PlainOperands(a.ProfileName); err != nil {
		return nil, loader.Execution("%w", err)
	}
	ok, err := calls.Succeeds(ctx, m.env, calls.Run{Argv: []string{"tuned-adm", "profile", a.ProfileName}})
	if err != nil || !ok {
		return false, err
	}
	return a.ProfileName, nil
}
