package calls

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// recordingEnv returns an Env that returns a fixed answer, and the last call made through it.
func recordingEnv(answer any, err error) (*loader.Env, *string) {
	var call string
	return &loader.Env{Call: func(_ context.Context, fun string, args []any, kwargs *data.Map) (any, error) {
		call = fun + " " + data.Repr(args) + " " + data.Repr(kwargs)
		return answer, err
	}}, &call
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		run  Run
		want string
	}{
		{Run{Argv: []string{"ls", "-l"}}, "[['ls', '-l']] {'python_shell': False}"},
		{Run{Line: "ls | wc", Shell: InShell}, "['ls | wc'] {'python_shell': True}"},
		{Run{Line: "ls -l", Shell: CmdDecides}, "['ls -l'] {}"},
		{
			Run{
				Argv: []string{"x"}, Dir: "/srv", As: "bob", Password: "pw", Env: data.NewMap("A",
					"b"), CleanEnv: true, Stdin: "in",
				Template: "jinja", Log: "quiet", Encoding: "latin1", IgnoreRetcode: true,
				MergeStderr: true, KeepNewline: true,
			},
			"[['x']] {'python_shell': False, 'cwd': '/srv', 'runas': 'bob', 'password': 'pw', 'env': {'A': 'b'}, 'clean_env': True, " +
				"'stdin': 'in', 'template': 'jinja', 'output_loglevel': 'quiet', 'ignore_retcode': True, " +
				"'output_encoding': 'latin1', 'redirect_stderr': True, 'rstrip': False}",
		},
		{
			Run{Argv: []string{"x"}, As: "bob", More: data.NewMap("runas", "eve", "timeout", int64(3))},
			"[['x']] {'python_shell': False, 'runas': 'eve', 'timeout': 3}",
		},
	} {
		env, call := recordingEnv("out", nil)
		if out, err := RunStdout(t.Context(), env, tt.run); out != "out" || err != nil ||
			*call != "cmd.run_stdout "+tt.want {
			t.Errorf("RunStdout(%+v) = %q, %v\n called %s\nwant %s", tt.run, out, err, *call, tt.want)
		}
	}
}

func TestRunAll(t *testing.T) {
	answer := data.NewMap("pid", int64(7), "retcode", int64(2), "stdout", "out", "stderr", "bad")
	env, _ := recordingEnv(answer, nil)
	ran, err := RunAll(t.Context(), env, Run{Argv: []string{"x"}})
	if want := (Ran{PID: 7, Retcode: 2, Stdout: "out", Stderr: "bad", Map: answer}); ran != want ||
		err != nil {
		t.Errorf("RunAll = %+v, %v, want %+v", ran, err, want)
	}
	env, _ = recordingEnv(data.NewMap("pid", int64(7), "retcode", nil, "stdout", "", "stderr",
		"Timeout"), nil)
	if ran, err := RunAll(t.Context(), env, Run{Argv: []string{"x"}}); ran.Retcode != -1 ||
		ran.Stderr != "Timeout" || err != nil {
		t.Errorf("RunAll without a return code = %+v, %v", ran, err)
	}
}

func TestUnexpectedResultTypes(t *testing.T) {
	all := func(env *loader.Env) error { _, err := RunAll(t.Context(), env, Run{Argv: []string{"x"}}); return err }
	succeeds := func(env *loader.Env) error {
		_, err := Succeeds(t.Context(), env, Run{Argv: []string{"x"}})
		return err
	}
	for _, tt := range []struct {
		call   func(*loader.Env) error
		answer any
		want   string
	}{
		{all, "out", "cmd.run_all: returned str, expected dict"},
		{all, data.NewMap("retcode", "0"), "the module cmd returned a return code of type str, expected int"},
		{succeeds, "0", "the module cmd returned a return code of type str, expected int"},
	} {
		env, _ := recordingEnv(tt.answer, nil)
		if err := tt.call(env); err == nil || err.Error() != tt.want {
			t.Errorf("answer %s: %v, want %s", data.Repr(tt.answer), err, tt.want)
		}
	}
}

func TestRetcode(t *testing.T) {
	for code, want := range map[int64]bool{0: true, 3: false, -9: false} {
		env, call := recordingEnv(code, nil)
		ok, err := Succeeds(t.Context(), env, Run{Argv: []string{"x"}})
		if ok != want || err != nil || *call != "cmd.retcode [['x']] {'python_shell': False}" {
			t.Errorf("code %d: %v, %v, called %s", code, ok, err, *call)
		}
	}
	env, _ := recordingEnv(nil, nil)
	if code, err := Retcode(t.Context(), env, Run{Argv: []string{"x"}}); code != -1 || err != nil {
		t.Errorf("Retcode of None = %d, %v", code, err)
	}
	broken := errors.New("no such user")
	env, _ = recordingEnv(nil, broken)
	if ok, err := Succeeds(t.Context(), env, Run{Argv: []string{"x"}}); ok || !errors.Is(err, broken) {
		t.Errorf("Succeeds = %v, %v", ok, err)
	}
}
