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
	return ran(callCmd[*data.Map](ctx, env, "cmd.run_all", r))
}

// ExecCode calls cmd.exec_code_all: an interpreter runs a text of its language.
func ExecCode(ctx context.Context, env *loader.Env, interpreter, code string) (Ran, error) {
	return ran(loader.CallAs[*data.Map](ctx, env, "cmd.exec_code_all", []any{interpreter, code}, nil))
}

// ran reads the result of cmd.run_all, and of functions that return the same.
func ran(all *data.Map, err error) (Ran, error) {
	if err != nil {
		return Ran{}, err
	}
	r := Ran{Stdout: all.Text("stdout"), Stderr: all.Text("stderr"), Map: all}
	pid, _ := all.Value("pid").(int64)
	r.PID = int(pid)
	if code, ok := all.Get("retcode"); ok {
		r.Retcode, err = retcode(code)
	}
	return r, err
}

// retcode reads a return code. None, which a timeout with use_vt leaves, is -1.
func retcode(v any) (int, error) {
	code, ok := v.(int64)
	switch {
	case ok:
		return int(code), nil
	case v == nil:
		return -1, nil
	}
	return 0, fmt.Errorf("the module cmd returned a return code of type %s, expected int", loader.TypeName(v))
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
	code, err := callCmd[any](ctx, env, "cmd.retcode", r)
	if err != nil {
		return 0, err
	}
	return retcode(code)
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
