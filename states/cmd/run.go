package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state/change"
)

type runArgs struct {
	Name            any
	Cwd             any       `default:"None"`
	Root            any       `default:"None"`
	Runas           any       `default:"None"`
	Shell           any       `default:"None"`
	Env             any       `default:"None"`
	PrependPath     any       `default:"None"`
	Stateful        any       `default:"False"`
	OutputLoglevel  any       `default:"'debug'"`
	HideOutput      any       `default:"False"`
	Timeout         any       `default:"None"`
	IgnoreTimeout   any       `default:"False"`
	UseVt           any       `default:"False"`
	SuccessRetcodes any       `default:"None"`
	SuccessStdout   any       `default:"None"`
	SuccessStderr   any       `default:"None"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// run runs a command. The state succeeds if the command returns 0.
//
// name
//
//	The command line for a shell.
//
// cwd
//
//	Directory to run in.
//
// root
//
//	Directory to use as the root of the file system for the command.
//
// runas
//
//	User to run as.
//
// shell
//
//	Shell to use. Default: the shell in the grain shell.
//
// env
//
//	Environment variables: a dictionary or a list of them.
//
// prepend_path
//
//	Directories to prepend to PATH.
//
// stateful
//
//	True: the command reports in the last line of its output whether it changed anything, as in
//	changed=yes comment='It is done', or in JSON. A list whose first element is a dictionary with
//	test_name specifies a command for test mode.
//
// output_loglevel
//
//	Level at which the output is logged by the minion.
//
// hide_output
//
//	True: leave the output out of the result.
//
// timeout
//
//	Seconds after which the command is killed.
//
// ignore_timeout
//
//	True: a command that was killed at the timeout succeeds.
//
// success_retcodes, success_stdout, success_stderr
//
//	Additional return codes and lines of output that mean success.
//
//	date > /tmp/salt-run:
//	  cmd.run:
//	    - unless: test -e /tmp/salt-run
func (m *module) run(ctx context.Context, a runArgs) (any, error) {
	words := a.Kwargs.Clone()
	for key, v := range data.NewMap("cwd", a.Cwd, "root", a.Root, "runas", a.Runas,
		"use_vt", a.UseVt, "shell", a.Shell, "env", a.Env, "prepend_path", a.PrependPath,
		"output_loglevel", a.OutputLoglevel, "hide_output", a.HideOutput,
		"success_retcodes", a.SuccessRetcodes, "success_stdout", a.SuccessStdout, "success_stderr",
		a.SuccessStderr, "timeout", a.Timeout, "ignore_timeout", a.IgnoreTimeout, "stateful",
		a.Stateful).All() {
		words.Set(key, v)
	}
	return m.runWords(ctx, a.Name, words)
}

// runWords is run with all arguments as keywords.
func (m *module) runWords(ctx context.Context, name any, words *data.Map) (*data.Map, error) {
	o := m.order(ctx, name, words)
	if complaint := badEnv(words); complaint != "" {
		return change.Failed(name, complaint), nil
	}
	if o.skippedInTest() {
		return o.would(fmt.Sprintf(`Command "%s" would have been executed`, data.Str(o.command)),
			data.NewMap("cmd", o.command))
	}
	if complaint := missingDirectory(words); complaint != "" {
		return change.Failed(name, complaint), nil
	}
	ignoreTimeout := data.Truth(o.words.Value("ignore_timeout"))
	o.words.Delete("ignore_timeout")
	fun := "cmd.run_all"
	if data.Truth(words.Value("root")) {
		fun = "cmd.run_chroot"
	}
	o.words.Set("cmd", o.command)
	outcome, err := m.result(ctx, fun, nil, o.words)
	if err != nil {
		return change.Failed(name, err.Error()), nil
	}
	succeeded := !data.Truth(outcome.Value("retcode"))
	if ignoreTimeout && data.Equal(outcome.Value("retcode"), int64(1)) &&
		strings.Contains(outcome.Text("stdout"), "Timed out after") {
		outcome.Set("retcode", int64(0))
		succeeded = true
	}
	return o.done(change.New(name, succeeded, outcome,
		fmt.Sprintf(`Command "%s" run`, data.Str(o.command))))
}

// An order is a command or script with the arguments for the module cmd.
type order struct {
	command  any
	words    *data.Map
	stateful bool
	named    bool // test_name is set: a command that may run in test mode
	test     bool
}

// order parses stateful and completes the arguments for the module cmd.
func (m *module) order(ctx context.Context, name any, words *data.Map) *order {
	o := &order{command: name, words: words.Clone(), test: change.Test(ctx)}
	switch v := words.Value("stateful").(type) {
	case bool:
		o.stateful = v
	case []any:
		o.stateful = len(v) > 0
		if o.stateful {
			first, _ := v[0].(*data.Map)
			name := first.Value("test_name")
			if o.named = data.Truth(name); o.named && o.test {
				o.command = name
			}
		}
	}
	o.words.Delete("stateful")
	o.words.Set("python_shell", true)
	if !data.Truth(words.Value("shell")) {
		o.words.Set("shell", m.env.GrainsNow().Value("shell"))
	}
	if mask := change.CallOf(ctx).Umask; mask != "" && !words.Has("umask") {
		o.words.Set("umask", mask)
	}
	return o
}

// skippedInTest reports whether the command is skipped because of test mode.
func (o *order) skippedInTest() bool { return o.test && !o.named }

func (o *order) would(comment string, changes *data.Map) (*data.Map, error) {
	ret := change.Would(o.command, changes, comment)
	if o.stateful {
		return reinterpreted(ret)
	}
	return ret, nil
}

// done evaluates the output for stateful. In test mode the result is None if something would
// change.
func (o *order) done(ret *data.Map) (*data.Map, error) {
	outcome, _ := ret.Value("changes").(*data.Map)
	code := outcome.Value("retcode")
	if o.stateful {
		var err error
		if ret, err = reinterpreted(ret); err != nil {
			return nil, err
		}
	}
	if o.test && data.Equal(code, int64(0)) && data.Truth(ret.Value("changes")) {
		ret.Set("result", nil)
	}
	return ret, nil
}

// result calls a function of the module cmd that returns a dictionary.
func (m *module) result(
	ctx context.Context, fun string, args []any, words *data.Map,
) (*data.Map, error) {
	v, err := m.env.Call(ctx, fun, args, words)
	if err != nil {
		return nil, err
	}
	outcome, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("%s returned no dictionary: %s", fun, data.Str(v))
	}
	return outcome, nil
}

func badEnv(words *data.Map) string {
	switch words.Value("env").(type) {
	case nil, []any, *data.Map, data.Tuple:
		return ""
	}
	return "Invalidly-formatted 'env' parameter. See documentation."
}

func missingDirectory(words *data.Map) string {
	cwd := words.Value("cwd")
	if !data.Truth(cwd) {
		return ""
	}
	if info, err := os.Stat(data.Str(cwd)); err == nil && info.IsDir() {
		return ""
	}
	return fmt.Sprintf(`Desired working directory "%s" is not available`, data.Str(cwd))
}

// caught reports whether cmd.script turns an error into its comment.
func caught(err error) bool {
	var broken *render.Error
	var path *fs.PathError
	return loader.KindOf(err) == loader.KindExecution ||
		loader.KindOf(err) == loader.KindNotFound || errors.As(err, &broken) ||
		errors.As(err, &path)
}
