// Package cmd is Salt's module cmd: it runs programs, shell lines, scripts and snippets, and
// returns their results (salt/modules/cmdmod.py).
//
// All functions share one path. Their arguments become a [request]. execute turns it into a
// program, step by step and in the order of the original's _run: the working directory, the shell,
// the template, the lists of allowed commands, the user and the environment. Each step may fail,
// with the original's text. The program runs through Env.Run: it gets a process group of its own
// and ends with its job. A timeout kills the group.
//
// A line goes to a shell if it came from the command line (it has a jid) or if the option cmd_safe
// is False. Commands of other modules and states are split into words like shlex does, unless
// python_shell says otherwise.
//
// A program inherits the environment of the daemon, without the variables that its service manager
// meant for the daemon alone (see environ.go), then the locale C in all categories, then the
// variables of env. With runas it also gets the login environment of the user, like a shell that
// su(1) starts. Python turns LC_CTYPE into C.UTF-8 on the way; that is not copied. The input is
// empty unless stdin is given. Output is held in memory, up to the size of one return; a program
// that writes more is ended, and its run is an error.
//
// Odd, but like Salt: a timeout is reported as output and leaves the return code of the job alone;
// raise_err has no effect at output_loglevel quiet. Different from Salt: errors never contain
// environment and stdin, nor the command at output_loglevel quiet; use_vt runs without a terminal;
// background programs have no output.
package cmd

import (
	"context"
	"os"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Plugin returns the module cmd. It renders templates with b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "cmd", File: "cmdmod",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	engine := sync.OnceValues(func() (*render.Engine, error) {
		e, _, err := render.ForEnv(env, b)
		return e, err
	})
	shell := defaultShell()
	q, e, u := requests{env, shell}, environs{env, os.Environ}, users{env}
	c := commands{env, q, runner{env, e, logins{env, shell, u, e}, u, engine}}
	i := interpreters{env, e}
	return &loader.Module{Funcs: []loader.Func{
		q.function("run", runParams, c.run).with("redirect_stderr", true).fix("stderr", twiceRun),
		q.function("shell", shellParams, c.shellLine).fix("stderr", twiceRun),
		q.function("run_stdout", stdoutParams, c.runStdout),
		q.function("run_stderr", stdoutParams, c.runStderr),
		q.function("run_all", allParams, c.runAll).fix("stderr", twiceRun),
		q.function("retcode", retcodeParams, c.retcode).fix("stderr", twiceRun),
		q.function("run_bg", bgParams,
			c.runBg).fix("stdin stdout stderr use_vt bg with_communicate rstrip", twiceRun),
		q.function("script", scriptParams, scripts{c}.script),
		q.function("script_retcode", scriptRetcodeParams,
			scripts{c}.scriptRetcode).with("template", "jinja"),
		q.function("exec_code", "lang code cwd args", snippets{c}.execCode).fix("python_shell",
			twiceRunAll).fix("cmd", twiceFirst),
		q.function("exec_code_all", "lang code cwd args",
			snippets{c}.execCodeAll).fix("python_shell", twiceRunAll).fix("cmd", twiceFirst),
		q.function("run_chroot", chrootParams, chroots{c}.runChroot).with("python_shell",
			true).with("output_loglevel", "quiet"),
		q.function("powershell", powershellParams, powershells{c, i}.powershell).with("shell",
			"powershell"),
		q.function("powershell_all", powershellAllParams,
			powershells{c, i}.powershellAll).with("shell", "powershell"),
		loader.F("which", programs{env}.whichFunc),
		loader.F("which_bin", programs{env}.whichBin),
		loader.F("has_exec", programs{env}.hasExec),
		loader.F("shells", shellList{env}.shells),
		loader.F("shell_info", i.shellInfo),
		loader.F("tty", terminals{env}.tty),
	}}, nil
}

// The smaller parts of the module.
type (
	scripts  struct{ commands } // fetches and runs scripts
	snippets struct{ commands } // runs code that calls contain
	chroots  struct{ commands } // runs commands in other root directories

	users       struct{ env *loader.Env } // looks up users and groups
	permissions struct{ env *loader.Env } // checks commands against the options that forbid some
	shellList   struct{ env *loader.Env } // reads /etc/shells
	programs    struct{ env *loader.Env } // looks programs up in the search path
	terminals   struct{ env *loader.Env } // writes to terminals
)

// commands runs commands.
type commands struct {
	env      *loader.Env
	requests requests
	runner   runner
}

// run runs a command and returns its output, with standard error unless redirect_stderr is False.
//
// The line goes through the shell if it comes from the command line. A command of another module is
// split into words and run without a shell, unless python_shell is True. Arguments:
//
//	cmd               the command; a list is taken as words
//	cwd               directory to run in; the home of the user when it is not given
//	stdin             text for its standard input; \n means a line feed
//	runas             user to run it as, with the environment of a login
//	group             group to run it with; needs sudo
//	shell             shell to use; by default that of the daemon's SHELL, else /bin/sh
//	python_shell      True: use the shell; False: do not
//	env               environment variables: a dictionary or a list of dictionaries
//	clean_env         True: only the variables of env
//	prepend_path      directories to put before PATH
//	template          engine that renders cmd and cwd first
//	rstrip            strip white space off the end of the output
//	umask             mask of file modes, octal
//	output_encoding   encoding of the output; by default UTF-8
//	output_loglevel   level for the output in the minion's log; quiet logs nothing
//	log_callback      function that cleans what is logged; for modules only
//	hide_output       True: return no output
//	timeout           seconds after which the command and all it started are killed
//	reset_system_locale  False: keep the locale of the daemon instead of C
//	ignore_retcode    True: a return code other than 0 is no failure
//	saltenv           environment for the template
//	use_vt            show the output as it comes; here the command has no terminal all the same
//	redirect_stderr   False: leave standard error out of the output
//	bg                True: do not wait
//	password          of the user; for Windows
//	encoded_cmd       the command is encoded, for PowerShell
//	raise_err         True: a return code other than 0 is an error
//	success_retcodes  return codes that count as 0
//	success_stdout    texts in the output that make the return code 0
//	success_stderr    texts in standard error that make the return code 0
//	stdin_raw_newlines  True: leave \n in stdin alone
//
// CLI Example:
//
//	salt '*' cmd.run "ls -l | awk '/foo/{print \$2}'"
//	salt '*' cmd.run "grep f" stdin='one\ntwo\nthree\nfour\nfive\n'
//	salt '*' cmd.run cmd='sed -e s/=/:/g'
func (m commands) run(ctx context.Context, a *arguments) (any, error) {
	return m.runText(ctx, a, m.requests.read(ctx, a))
}

// runText is run for a complete request.
func (m commands) runText(ctx context.Context, a *arguments, r *request) (any, error) {
	given := r.cmd
	v, ok := a.values.Get("redirect_stderr")
	r.merge = !ok || data.Truth(v)
	o, err := m.runner.execute(ctx, r)
	if err != nil {
		return nil, err
	}
	shown := o.stdout
	if a.truth("hide_output") {
		shown = ""
	}
	if err := m.report(r, given, o, a.truth("raise_err"), shown); err != nil {
		return nil, err
	}
	return shown, nil
}

// shellLine always runs a command through the shell and returns its output, standard error mixed
// in.
//
// Like cmd.run with python_shell=True; the other arguments are the same. The shell runs whatever
// the text contains: never build it from untrusted input.
//
// CLI Example:
//
//	salt '*' cmd.shell "ls -l | awk '/foo/{print \$2}'"
//	salt '*' cmd.shell "grep f" stdin='one\ntwo\nthree\nfour\nfive\n'
func (m commands) shellLine(ctx context.Context, a *arguments) (any, error) {
	r := m.requests.read(ctx, a)
	r.forceShell(a, true)
	return m.runText(ctx, a, r)
}

// runStdout runs a command and returns its standard output. The arguments are those of cmd.run.
//
// CLI Example:
//
//	salt '*' cmd.run_stdout "ls -l | awk '/foo/{print \$2}'"
func (m commands) runStdout(ctx context.Context, a *arguments) (any, error) {
	o, err := m.runRequest(ctx, a)
	if err != nil || a.truth("hide_output") {
		return "", err
	}
	return o.stdout, nil
}

// runStderr runs a command and returns its standard error. The arguments are those of cmd.run.
//
// CLI Example:
//
//	salt '*' cmd.run_stderr "ls -l | awk '/foo/{print \$2}'"
func (m commands) runStderr(ctx context.Context, a *arguments) (any, error) {
	o, err := m.runRequest(ctx, a)
	if err != nil || a.truth("hide_output") {
		return "", err
	}
	return o.stderr, nil
}

// runAll runs a command and returns its pid, return code, standard output and standard error. The
// arguments are those of cmd.run, and redirect_stderr: True mixes standard error into the output.
//
// CLI Example:
//
//	salt '*' cmd.run_all "ls -l | awk '/foo/{print \$2}'"
func (m commands) runAll(ctx context.Context, a *arguments) (any, error) {
	return m.runMap(ctx, a, m.requests.read(ctx, a))
}

// runMap is runAll for a complete request.
func (m commands) runMap(ctx context.Context, a *arguments, r *request) (*data.Map, error) {
	r.merge = a.truth("redirect_stderr")
	o, err := m.runner.execute(ctx, r)
	if err != nil {
		return nil, err
	}
	return o.shown(a), nil
}

// retcode runs a command and returns its return code. The arguments are those of cmd.run.
//
// CLI Example:
//
//	salt '*' cmd.retcode "file /bin/bash"
func (m commands) retcode(ctx context.Context, a *arguments) (any, error) {
	r := m.requests.read(ctx, a)
	r.merge = true
	o, err := m.runner.execute(ctx, r)
	if err != nil {
		return nil, err
	}
	return o.retcode, nil
}

// runBg starts a command, does not wait for it, and returns its pid. The arguments are those of
// cmd.run. Its output is discarded, and it does not end with the job.
//
// CLI Example:
//
//	salt '*' cmd.run_bg "fstrim-all"
func (m commands) runBg(ctx context.Context, a *arguments) (any, error) {
	r := m.requests.read(ctx, a)
	r.stdin, r.rstrip, r.useVT, r.bg = nil, false, false, true
	o, err := m.runner.execute(ctx, r)
	if err != nil {
		return nil, err
	}
	return data.NewMap("pid", o.pid), nil
}

func (m commands) runRequest(ctx context.Context, a *arguments) (*outcome, error) {
	return m.runner.execute(ctx, m.requests.read(ctx, a))
}
