package calls

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Run describes a program for the module cmd to run. Fields with their zero value are not passed
// on, except Shell.
type Run struct {
	Argv  []string // the program and its arguments
	Line  string   // instead of Argv: a command line, split by cmd or read by a shell
	Shell Shell    // whether a shell reads the command

	Dir           string    // cwd: working directory
	As            string    // runas: user to run it as
	Password      string    // password: password of As, for Windows
	Env           *data.Map // env: variables in addition to the minion's
	CleanEnv      bool      // clean_env: only the variables of Env
	Stdin         string    // stdin: text for standard input
	Template      string    // template: engine that renders the command
	Log           string    // output_loglevel: log level of the output; quiet disables logging
	IgnoreRetcode bool      // ignore_retcode: a return code other than 0 does not fail the job
	Encoding      string    // output_encoding: encoding of the output
	MergeStderr   bool      // redirect_stderr: Ran.Stdout has both streams
	KeepNewline   bool      // rstrip False: keep the newline at the end of the output
	More          *data.Map // further arguments by name; they override the fields above
}

// A Shell determines whether a shell reads a command.
type Shell int

// The values of Run.Shell.
const (
	NoShell Shell = iota // python_shell False
	InShell              // python_shell True
	// python_shell not passed: no shell, unless the option cmd_safe is False
	CmdDecides
)

// A Ran is the outcome of a program run.
type Ran struct {
	PID, Retcode   int
	Stdout, Stderr string
	Map            *data.Map // the unmodified result of cmd.run_all
}

// RunAll calls cmd.run_all and returns the return code and the output of a program.
func RunAll(ctx context.Context, env *loader.Env, r Run) (Ran, error) {
	return ran(callCmd[*data.Map](ctx, env, "cmd.run_all", r))
}

// ExecCode calls cmd.exec_code_all, which runs code in the given interpreter.
func ExecCode(ctx context.Context, env *loader.Env, interpreter, code string) (Ran, error) {
	return ran(loader.CallAs[*data.Map](ctx, env,
		"cmd.exec_code_all", []any{interpreter, code}, nil))
}

// ran converts the result of cmd.run_all and of functions with the same result.
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

// retcode converts a return code. None, the result of a timeout with use_vt, becomes -1.
func retcode(v any) (int, error) {
	code, ok := v.(int64)
	switch {
	case ok:
		return int(code), nil
	case v == nil:
		return -1, nil
	}
	return 0, fmt.Errorf("the module cmd returned a return code of type %s, expected int",
		loader.TypeName(v))
}

// RunOutput calls cmd.run and returns what a program prints to standard output and standard error.
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

// kwargs returns the keyword arguments of a function of cmd.
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

// Text converts an operator's argument to a string: "" for None and any other value that Python
// treats as false.
func Text(v any) string {
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}
