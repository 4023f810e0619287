//go:build unix

package user

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// An outcome is what a run of a program gave.
type outcome struct {
	code   int64
	stderr string
}

// tool runs a program that changes users below a directory, None being that of the minion's system.
func (m *module) tool(ctx context.Context, program string, root any, args ...any) (outcome, error) {
	path := process.Find(program)
	if path == "" {
		return outcome{}, loader.Execution("Command '%s' cannot be found", program)
	}
	argv := []any{path}
	if root == nil && m.env.Root != "" {
		root = m.env.Root
	}
	if root != nil {
		argv = append(argv, "-R", root)
	}
	v, err := m.env.Call(ctx, "cmd.run_all", []any{append(argv, args...)}, data.NewMap("python_shell", false))
	if err != nil {
		return outcome{}, err
	}
	all, _ := v.(*data.Map)
	code, _ := all.Value("retcode").(int64)
	return outcome{code, all.Text("stderr")}, nil
}
