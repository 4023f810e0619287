package alternatives

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
)

type installArgs struct {
	Name, Link, Path string
	Priority         any
}

// install makes a path an alternative of a name, and returns what the program says.
//
// CLI Example:
//
//	salt '*' alternatives.install editor /usr/bin/editor /usr/bin/emacs23 50
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	o, err := m.run(ctx, false, "--install", a.Link, a.Name, a.Path, data.Str(a.Priority))
	if err != nil || o.Retcode > 0 && o.Stderr != "" {
		return o.Stderr, err
	}
	return o.Stdout, nil
}

// remove takes a path from the alternatives of a name, and returns what the program says.
//
// CLI Example:
//
//	salt '*' alternatives.remove editor /usr/bin/emacs23
func (m *module) remove(ctx context.Context, a pathArgs) (any, error) {
	return m.told(ctx, "--remove", a.Name, a.Path)
}

// auto lets priorities say which path stands behind a name, and returns what the program says.
//
// CLI Example:
//
//	salt '*' alternatives.auto editor
func (m *module) auto(ctx context.Context, a nameArgs) (any, error) {
	return m.told(ctx, "--auto", a.Name)
}

// set puts a path behind a name, whatever its priority, and returns what the program says.
//
// CLI Example:
//
//	salt '*' alternatives.set editor /usr/bin/vim.basic
func (m *module) set(ctx context.Context, a pathArgs) (any, error) {
	return m.told(ctx, "--set", a.Name, a.Path)
}

// told runs the program and returns what it says: its errors where it fails.
func (m *module) told(ctx context.Context, args ...string) (any, error) {
	o, err := m.run(ctx, false, args...)
	if err != nil || o.Retcode > 0 {
		return o.Stderr, err
	}
	return o.Stdout, nil
}

// run runs the program. With quiet true its failure is not that of the job.
func (m *module) run(ctx context.Context, quiet bool, args ...string) (calls.Ran, error) {
	program := "update-alternatives"
	if m.env.GrainsNow().Text("os_family") == "RedHat" {
		program = "alternatives"
	}
	return calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{program}, args...), IgnoreRetcode: quiet})
}
