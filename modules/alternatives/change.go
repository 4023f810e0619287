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

// install adds a path to the alternatives of a name, and returns the program's output.
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

// remove removes a path from the alternatives of a name, and returns the program's output.
//
// CLI Example:
//
//	salt '*' alternatives.remove editor /usr/bin/emacs23
func (m *module) remove(ctx context.Context, a pathArgs) (any, error) {
	return m.output(ctx, "--remove", a.Name, a.Path)
}

// auto sets a name to automatic mode, in which the priorities choose the path, and returns the
// program's output.
//
// CLI Example:
//
//	salt '*' alternatives.auto editor
func (m *module) auto(ctx context.Context, a nameArgs) (any, error) {
	return m.output(ctx, "--auto", a.Name)
}

// set makes a path the current alternative of a name whatever its priority, and returns the
// program's output.
//
// CLI Example:
//
//	salt '*' alternatives.set editor /usr/bin/vim.basic
func (m *module) set(ctx context.Context, a pathArgs) (any, error) {
	return m.output(ctx, "--set", a.Name, a.Path)
}

// output runs the program and returns its output, or its standard error if it fails.
func (m *module) output(ctx context.Context, args ...string) (any, error) {
	o, err := m.run(ctx, false, args...)
	if err != nil || o.Retcode > 0 {
		return o.Stderr, err
	}
	return o.Stdout, nil
}

// run runs the program. With quiet true, its failure does not fail the job.
func (m *module) run(ctx context.Context, quiet bool, args ...string) (calls.Ran, error) {
	program := "update-alternatives"
	if m.env.GrainsNow().Text("os_family") == "RedHat" {
		program = "alternatives"
	}
	return calls.RunAll(ctx, m.env,
		calls.Run{Argv: append([]string{program}, args...), IgnoreRetcode: quiet})
}
