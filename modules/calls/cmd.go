package calls

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Run is an order for the module cmd to run a program. Beside Shell, a field with its zero value is
// not passed on.
type Run struct {
	Argv  []string // the program and its arguments
	Line  string   // instead of Argv: a command line, which cmd splits, or a shell reads
	Shell Shell    // whether a shell reads the command

	Dir           string    // cwd: working directory
	As            string    // runas: user to run it as
	Password      string    // password: that of As, for Windows
	Env           *data.Map // env: variables beside those of the minion
	CleanEnv      bool      // clean_env: only the variables of Env
	Stdin         string    // stdin: text for standard input
	Template      string    // template: engine that renders the command
	Log           string    // output_loglevel: log level of the output; quiet logs nothing
	IgnoreRetcode bool      // ignore_retcode: a return code other than 0 is no failure of the job
	Encoding      string    // output_encoding: that of the output
	MergeStderr   bool      // redirect_stderr: Ran.Stdout has both streams
	KeepNewline   bool      // rstrip False: the newline at the end of the output stays
	More          *data.Map // further arguments by name; they count before the fields above
}

// A Shell says whether a shell reads a command.
type Shell int

// The values of Run.Shell.
const (
	NoShell    Shell = iota // python_shell False
	InShell                 // python_shell True
	CmdDecides              // python_shell not passed: no shell, unless the option cmd_safe is False
)

// A Ran is the outcome of a program.
type Ran struct {
	PID, Retcode   int
	Stdout, Stderr string
	Map            *data.Map // the result of cmd.run_all as it is
}

// RunAll calls cmd.run_all and returns the return code of a program, and its output.
func RunAll(ctx context.Context, env *loader.Env, r Run) (Ran, error) {
	all, err := callCmd[*data.Map](ctx, env, "cmd.run_all", r)
	if err != nil {
		return Ran{}, err
	}
	pid, err := number(all, "pid")
	if err != nil {
		return Ran{}, err
	}
	code, err := number(all, "retcode")
	return Ran{pid, code, all.Text("stdout"), all.Text("stderr"), all}, err
}

// number returns a number in the result of cmd.run_all, -1 for None as after a timeout with use_vt.
func number(all *data.Map, key string) (int, error) {
	v, ok := all.Get(key)
	n, isInt := v.(int64)
	switch {
	case isInt || !ok:
		return int(n), nil
	case v == nil:
		return -1, nil
	}
	return 0, fmt.Errorf("cmd.run_all: returned %s as %s, expected int", loader.TypeName(v), key)
}

// RunOutput calls cmd.run and returns what a program prints on standard output and standard error.
func RunOutput(ctx context.Context, env *loader.Env, r Run) (string, error) {
	return callCmd[string](ctx, env, "cmd.run", r)
}

// RunStdout calls cmd.run_stdout and returns the standard output of a program.
func RunStdout(ctx context.Context, env *loader.Env, r Run) (string, error) {
	return callCmd[string](ctx, env, "cmd.run_stdout", r)
}

// RunStderr calls cmd.run_stderr and returns the standard error of a program.
func RunStderr(ctx context.Context, env *loader.Env, r Run) (string, error) {
	return callCmd[string](ctx, env, "cmd.run_stderr", r)
}

// Retcode calls cmd.retcode and returns the return code of a program.
func Retcode(ctx context.Context, env *loader.Env, r Run) (int, error) {
	return callCmd[int](ctx, env, "cmd.retcode", r)
}

// Succeeds calls cmd.retcode and reports whether the return code of a program is 0.
func Succeeds(ctx context.Context, env *loader.Env, r Run) (bool, error) {
	code, err := Retcode(ctx, env, r)
	return err == nil && code == 0, err
}

func callCmd[R any](ctx context.Context, env *loader.Env, fun string, r Run) (R, error) {
	return loader.CallAs[R](ctx, env, fun, []any{r.command()}, r.kwargs())
}

func (r Run) command() any {
	if r.Argv != nil {
		return data.Values(r.Argv)
	}
	return r.Line
}

// kwargs returns the arguments of a function of cmd that follow the command.
func (r Run) kwargs() *data.Map {
	kwargs := &data.Map{}
	set := func(name string, given bool, value any) {
		if given {
			kwargs.Set(name, value)
		}
	}
	set("python_shell", r.Shell != CmdDecides, r.Shell == InShell)
	set("cwd", r.Dir != "", r.Dir)
	set("runas", r.As != "", r.As)
	set("password", r.Password != "", r.Password)
	set("env", r.Env != nil, r.Env)
	set("clean_env", r.CleanEnv, true)
	set("stdin", r.Stdin != "", r.Stdin)
	set("template", r.Template != "", r.Template)
	set("output_loglevel", r.Log != "", r.Log)
	set("ignore_retcode", r.IgnoreRetcode, true)
	set("output_encoding", r.Encoding != "", r.Encoding)
	set("redirect_stderr", r.MergeStderr, true)
	set("rstrip", r.KeepNewline, false)
	kwargs.Update(r.More)
	return kwargs
}

// Text returns an argument of an operator as a text: "" for None and whatever else is false in Python.
func Text(v any) string {
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}
