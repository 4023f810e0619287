package cmd

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// requests reads the arguments of calls.
type requests struct {
	env   *loader.Env
	shell string // default of the parameter shell
}

// logins runs programs as other users and groups.
type logins struct {
	env      *loader.Env
	shell    string // default of the parameter shell
	users    users
	environs environs
}

// A request describes a command to run: the parameters of the original's _run.
type request struct {
	cmd      any // text, words, or any other value
	cwd      any
	stdin    any // nil for none
	runas    string
	password string
	group    string
	shell    string
	useShell bool // python_shell
	env      any
	cleanEnv bool
	path     string // prepend_path
	rstrip   bool
	template string
	umask    any
	encoding any
	level    level
	callback func(string) string
	timeout  any
	locale   bool // reset_system_locale
	noRet    bool // ignore_retcode
	saltenv  any
	useVT    bool
	bg       bool
	encoded  bool
	raw      bool // stdin_raw_newlines
	merge    bool // standard error goes to the output
	script   bool // cmd is a script file that we made
	jid      bool // the command comes from the command line
	retcodes any
	stdouts  any
	stderrs  any

	pillar, pillarenv any // of a template
}

// read returns the request for the arguments of a call.
func (m requests) read(ctx context.Context, a *arguments) *request {
	r := &request{
		cmd: a.get("cmd"), cwd: a.get("cwd"), stdin: a.get("stdin"), umask: a.get("umask"),
		timeout: a.get("timeout"), runas: a.text("runas"), group: a.text("group"),
		password: a.text("password"), shell: data.Str(a.or("shell", m.shell)), env: a.get("env"),
		cleanEnv: a.truth("clean_env"), path: a.text("prepend_path"),
		rstrip: data.Truth(a.or("rstrip", true)), template: a.text("template"),
		encoding: a.get("output_encoding"), locale: a.or("reset_system_locale", true) == true,
		noRet: a.truth("ignore_retcode"), saltenv: a.get("saltenv"), pillar: a.get("pillar"),
		pillarenv: a.get("pillarenv"), useVT: a.truth("use_vt"), bg: a.truth("bg"),
		encoded: a.truth("encoded_cmd"), raw: a.truth("stdin_raw_newlines"),
		jid: a.values.Has("__pub_jid"), retcodes: a.get("success_retcodes"),
		stdouts: a.get("success_stdout"), stderrs: a.get("success_stderr"),
	}
	r.level = levelNamed(m.env.Log, a.or("output_loglevel", "debug"))
	r.callback = callbackOf(m.env.Log, a.get("log_callback"))
	r.useShell = m.usesShell(a.get("python_shell"), a.text("__pub_jid"))
	r.inContext(ctx, a)
	return r
}

// usesShell returns python_shell. By default a command with a jid, from the command line, uses the
// shell.
func (m requests) usesShell(given any, jid string) bool {
	if given != nil {
		return given == true
	}
	return jid != "" || m.env.Option("cmd_safe") == false
}

// forceShell sets python_shell if the call does not; the jid does not count.
func (r *request) forceShell(a *arguments,
	use bool) {
	r.useShell = a.or("python_shell", use) == true
}

// inContext takes user and password from the context of the job if the call has none.
func (r *request) inContext(ctx context.Context, a *arguments) {
	c := loader.ContextOf(ctx)
	if v, ok := c.Get("runas"); ok && a.get("runas") == nil && data.Truth(v) {
		r.runas = data.Str(v)
	}
	if v, ok := c.Get("runas_password"); ok && a.get("password") == nil && data.Truth(v) {
		r.password = data.Str(v)
	}
}

// An outcome is the result of a command.
type outcome struct {
	pid            int
	retcode        any // nil if it is unknown
	stdout, stderr string
	keys           []string // order of the fields
}

// shown returns the outcome as a dictionary, without output if it is to be hidden.
func (o *outcome) shown(a *arguments) *data.Map {
	if a.truth("hide_output") {
		o.stdout, o.stderr = "", ""
	}
	ret := &data.Map{}
	for _, key := range o.keys {
		ret.Set(key, map[string]any{"pid": int64(o.pid), "retcode": o.retcode, "stdout": o.stdout,
			"stderr": o.stderr}[key])
	}
	return ret
}
