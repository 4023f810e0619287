package packages

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// An Outcome is what a run of a program gave.
type Outcome struct {
	Code           int64
	Stdout, Stderr string
	All            *data.Map // what cmd.run_all answers
}

// Run runs a program without a shell by cmd.run_all. words are further arguments of that; the program's output stands in the log at
// level trace alone.
func Run(ctx context.Context, env *loader.Env, words *data.Map, command ...any) (Outcome, error) {
	kwargs := data.NewMap("python_shell", false, "output_loglevel", "trace")
	kwargs.Update(words)
	v, err := env.Call(ctx, "cmd.run_all", []any{command}, kwargs)
	if err != nil {
		return Outcome{}, err
	}
	all, _ := v.(*data.Map)
	code, _ := all.Value("retcode").(int64)
	return Outcome{code, all.Text("stdout"), all.Text("stderr"), all}, nil
}

// Quietly are the words for Run of a program whose failure is not that of the job.
func Quietly() *data.Map { return data.NewMap("ignore_retcode", true) }
