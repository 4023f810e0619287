//go:build unix

package user

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// tool runs a program that changes users below a directory. None stands for the minion's system.
func (m *module) tool(
	ctx context.Context, program string, root any, args ...any,
) (calls.Ran, error) {
	path := process.Find(program)
	if path == "" {
		return calls.Ran{}, loader.Execution("Command '%s' cannot be found", program)
	}
	argv := []any{path}
	if root == nil && m.env.Root != "" {
		root = m.env.Root
	}
	if root != nil {
		argv = append(argv, "-R", root)
	}
	return calls.RunAll(ctx, m.env, calls.Run{Argv: data.Texts(append(argv, args...))})
}
