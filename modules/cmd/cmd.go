// Package cmd is Salt's module cmd: it runs programs, shell lines, scripts and snippets, and says what came of them
// (salt/modules/cmdmod.py).
//
// All functions come down to one path. Their arguments become a [request], which execute turns, step by step and in the order of
// the original's _run, into a program: the working directory, the shell, the template, the lists of what is allowed, the user and the
// environment. Each step may refuse, with the original's text. The program runs through Env.Run, so it is in a process group of
// its own and ends with its job; a timeout kills the group.
//
// A line goes to a shell when it came from the command line (it has a jid) or the option cmd_safe is False; what other modules and
// states run is split into words as shlex does, unless python_shell says otherwise.
//
// What a program inherits: the environment of the daemon, without what its service manager meant for the daemon alone (see
// environ.go), the locale C in all categories, then what env says. With runas it has the login environment of the user on top, as
// a shell that su(1) starts has it; that Python turns LC_CTYPE into C.UTF-8 on its way there is not copied.
// Its input is empty, unless stdin is given. Output is held in memory, up to what one return can hold; a program that writes more
// is ended and its run is an error.
//
// What is odd, and the same as in Salt: a timeout is reported as output and leaves the return code of the job alone; raise_err does
// nothing at output_loglevel quiet. What is not the same: environment and stdin never stand in an error, and with output_loglevel
// quiet neither does the command; use_vt runs without a terminal; background programs write nowhere.
package cmd

import (
	"context"
	"os"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Plugin returns the module cmd, which renders with what b has.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "cmd", File: "cmdmod", New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	env     *loader.Env
	shell   string          // default of the parameter shell
	inherit func() []string // environment of the daemon
	engine  func() (*render.Engine, error)
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{env: env, shell: defaultShell(), inherit: os.Environ}
	m.engine = sync.OnceValues(func() (*render.Engine, error) {
		e, _, err := render.ForEnv(env, b)
		return e, err
	})
	return &loader.Module{Funcs: m.functions()}, nil
}

func (m *module) functions() []loader.Func {
	return []loader.Func{
		m.function("run", runParams, m.run).fix("stderr", twiceRun),
		m.function("shell", shellParams, m.shellLine).fix("stderr", twiceRun),
		m.function("run_stdout", stdoutParams, m.runStdout),
		m.function("run_stderr", stdoutParams, m.runStderr),
		m.function("run_all", allParams, m.runAll).fix("stderr", twiceRun),
		m.function("retcode", retcodeParams, m.retcode).fix("stderr", twiceRun),
		m.function("run_bg", bgParams, m.runBg).fix("stdin stdout stderr use_vt bg with_communicate rstrip", twiceRun),
		m.function("script", scriptParams, m.script),
		m.function("script_retcode", scriptRetcodeParams, m.scriptRetcode).with("template", "jinja"),
		m.function("exec_code", "lang code cwd args", m.execCode).fix("python_shell", twiceRunAll).fix("cmd", twiceFirst),
		m.function("exec_code_all", "lang code cwd args", m.execCodeAll).fix("python_shell", twiceRunAll).fix("cmd", twiceFirst),
		m.function("run_chroot", chrootParams, m.runChroot).with("python_shell", true).with("output_loglevel", "quiet"),
		m.function("powershell", powershellParams, m.powershell).with("shell", "powershell"),
		m.function("powershell_all", powershellAllParams, m.powershellAll).with("shell", "powershell"),
		loader.F("which", m.whichFunc),
		loader.F("which_bin", m.whichBin),
		loader.F("has_exec", m.hasExec),
		loader.F("shells", m.shells),
		loader.F("shell_info", m.shellInfo),
		loader.F("tty", m.tty),
	}
}

// run runs a command and returns its output, standard error mixed in.
//
// The line goes through the shell when it comes from the command line; from other modules it is split into words and run
// without one, unless python_shell is True. Arguments:
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
func (m *module) run(ctx context.Context, a *arguments) (any, error) {
	r, err := m.request(ctx, a)
	if err != nil {
		return nil, err
	}
	return m.runText(ctx, a, r)
}

// runText is run with a request that is complete.
func (m *module) runText(ctx context.Context, a *arguments, r *request) (any, error) {
	given := r.cmd
	r.merge = true
	o, err := m.execute(ctx, r)
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

// shellLine runs a command through the shell, always, and returns its output, standard error mixed in.
//
// Like cmd.run with python_shell=True; the other arguments are the same. Whatever is in the text is run: never build it of what
// others wrote.
//
// CLI Example:
//
//	salt '*' cmd.shell "ls -l | awk '/foo/{print \$2}'"
//	salt '*' cmd.shell "grep f" stdin='one\ntwo\nthree\nfour\nfive\n'
func (m *module) shellLine(ctx context.Context, a *arguments) (any, error) {
	r, err := m.request(ctx, a)
	if err != nil {
		return nil, err
	}
	r.forceShell(a, true)
	return m.runText(ctx, a, r)
}

// runStdout runs a command and returns what it wrote to standard output. The arguments are those of cmd.run.
//
// CLI Example:
//
//	salt '*' cmd.run_stdout "ls -l | awk '/foo/{print \$2}'"
func (m *module) runStdout(ctx context.Context, a *arguments) (any, error) {
	o, err := m.runRequest(ctx, a)
	if err != nil || a.truth("hide_output") {
		return "", err
	}
	return o.stdout, nil
}

// runStderr runs a command and returns what it wrote to standard error. The arguments are those of cmd.run.
//
// CLI Example:
//
//	salt '*' cmd.run_stderr "ls -l | awk '/foo/{print \$2}'"
func (m *module) runStderr(ctx context.Context, a *arguments) (any, error) {
	o, err := m.runRequest(ctx, a)
	if err != nil || a.truth("hide_output") {
		return "", err
	}
	return o.stderr, nil
}

// runAll runs a command and returns its pid, return code, standard output and standard error. The arguments are those of
// cmd.run, and redirect_stderr: True mixes standard error into the output.
//
// CLI Example:
//
//	salt '*' cmd.run_all "ls -l | awk '/foo/{print \$2}'"
func (m *module) runAll(ctx context.Context, a *arguments) (any, error) {
	r, err := m.request(ctx, a)
	if err != nil {
		return nil, err
	}
	return m.runMap(ctx, a, r)
}

// runMap is runAll with a request that is complete.
func (m *module) runMap(ctx context.Context, a *arguments, r *request) (*data.Map, error) {
	r.merge = a.truth("redirect_stderr")
	o, err := m.execute(ctx, r)
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
func (m *module) retcode(ctx context.Context, a *arguments) (any, error) {
	r, err := m.request(ctx, a)
	if err != nil {
		return nil, err
	}
	r.merge = true
	o, err := m.execute(ctx, r)
	if err != nil {
		return nil, err
	}
	return o.retcode, nil
}

// runBg starts a command, does not wait for it, and returns its pid. The arguments are those of cmd.run. Its output goes
// nowhere, and it is not ended with the job.
//
// CLI Example:
//
//	salt '*' cmd.run_bg "fstrim-all"
func (m *module) runBg(ctx context.Context, a *arguments) (any, error) {
	r, err := m.request(ctx, a)
	if err != nil {
		return nil, err
	}
	r.stdin, r.rstrip, r.useVT, r.bg = nil, false, false, true
	o, err := m.execute(ctx, r)
	if err != nil {
		return nil, err
	}
	return data.NewMap("pid", o.pid), nil
}

func (m *module) runRequest(ctx context.Context, a *arguments) (*outcome, error) {
	r, err := m.request(ctx, a)
	if err != nil {
		return nil, err
	}
	return m.execute(ctx, r)
}
