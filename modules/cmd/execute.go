package cmd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/template"
)

// runner runs requests.
type runner struct {
	env      *loader.Env
	environs environs
	logins   logins
	users    users
	engine   func() (*render.Engine, error) // of templates
}

// A job is a request that is being run.
type job struct {
	*request
	cwd  string
	cmd  any       // the command to run: text, or a list of words
	env  *data.Map // texts by name: first those that the request adds, then the whole environment
	mask int       // umask, or -1
	who  *identity // nil keeps the daemon's user
	good successes
}

// execute runs a request like the original's _run, logs it, and sets the return code of the job.
func (m runner) execute(ctx context.Context, r *request) (*outcome, error) {
	j, err := m.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	var o *outcome
	if r.useVT {
		o, err = m.runVT(ctx, j)
	} else {
		o, err = m.runPlain(ctx, j)
	}
	if err != nil || o.timedOut() {
		return o, err
	}
	c := loader.ContextOf(ctx)
	if r.noRet {
		c.SetRetcode(0)
	} else {
		c.Set("retcode", o.retcode)
	}
	return o, m.logOutcome(j, o)
}

// prepare runs all steps before the start, in the original's order.
func (m runner) prepare(ctx context.Context, r *request) (*job, error) {
	j := &job{request: r, cmd: r.cmd, mask: -1}
	if r.bg {
		r.noRet, r.useVT = true, false
	}
	j.cwd = m.workDir(ctx, r)
	steps := []func(context.Context, *job) error{
		shellList{m.env}.checkShell, forPowershell, m.render, permissions{m.env}.checkAllowed,
		m.environs.ownEnvironment, m.announce, m.logins.becomeUser, m.logins.becomeGroup,
		m.logins.loginEnvironment, m.environs.environment, setMask, checkDir, split,
		readSuccesses, checkTimeout, checkTexts,
	}
	for _, step := range steps {
		if err := step(ctx, j); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// workDir returns the directory to run in. The default is the home of the user if it is readable.
func (m runner) workDir(ctx context.Context, r *request) string {
	if data.Truth(r.cwd) {
		return data.Str(r.cwd)
	}
	if home := m.users.home(ctx, r.runas); readable(home) {
		return home
	}
	return rootDir()
}

func (m shellList) checkShell(_ context.Context, j *job) error {
	if j.level != quiet && !m.listedShell(j.shell) {
		m.env.Log.Warnf("Attempt to run a shell command with what may be an invalid shell! Check to ensure that the shell <%s> "+
			"is valid for this user.", j.shell)
	}
	return shellAvailable(j)
}

// render renders command and directory with the template engine.
func (m runner) render(ctx context.Context, j *job) error {
	if j.template == "" {
		return nil
	}
	if !template.IsEngine(j.template) {
		return loader.Execution("Attempted to render file paths with unavailable engine %s",
			j.template)
	}
	e, err := m.engine()
	if err != nil {
		return loader.Execution("render the command: %w", err)
	}
	in := render.Input{SaltEnv: defaultSaltenv(m.env)}
	if j.saltenv != nil {
		in.SaltEnv = data.Str(j.saltenv)
	}
	if in.Vars, err = m.variables(ctx, j); err != nil {
		return err
	}
	text := data.Str(j.cmd)
	for _, part := range []*string{&text, &j.cwd} {
		in.Text = *part
		if *part, err = e.Template(ctx, j.template, in); err != nil {
			return loader.Execution("Failed to execute cmd with error: %s", j.secret(err.Error()))
		}
	}
	j.cmd = text
	return nil
}

// variables returns the pillar for templates if the call has one or names its environment.
func (m runner) variables(ctx context.Context, j *job) (map[string]any, error) {
	if j.pillar == nil && j.pillarenv == nil || !m.env.Functions.Has("pillar.items") {
		return nil, nil
	}
	v, err := calls.PillarItems(ctx, m.env, j.pillar, j.pillarenv)
	return map[string]any{"pillar": v}, err
}

func defaultSaltenv(env *loader.Env) string {
	if v := env.Option("saltenv"); data.Truth(v) {
		return data.Str(v)
	}
	return "base"
}

// checkAllowed checks a command from the command line against the options cmd_blacklist_glob and
// cmd_whitelist_glob.
func (m permissions) checkAllowed(ctx context.Context, j *job) error {
	if !j.jid {
		return nil
	}
	text := data.Str(j.cmd)
	if words, ok := wordsOf(j.cmd); ok {
		text = strings.Join(data.Texts(words), " ")
	}
	white, err := m.globs(ctx, "cmd_whitelist_glob")
	if err != nil {
		return err
	}
	black, err := m.globs(ctx, "cmd_blacklist_glob")
	if err != nil {
		return err
	}
	if anyGlob(black, text) || len(white) > 0 && !anyGlob(white, text) {
		return loader.Execution(`The shell command "%s" is not permitted`,
			j.secret(data.Str(j.cmd)))
	}
	return nil
}

// globs returns the patterns of an option as config.get finds it.
func (m permissions) globs(ctx context.Context, option string) ([]string, error) {
	if m.env.Functions.Has("config.get") {
		return calls.ConfigGet[[]string](ctx, m.env, option)
	}
	list, _ := m.env.Option(option).([]any)
	return data.Texts(list), nil
}

func anyGlob(globs []string, text string) bool {
	for _, g := range globs {
		if loader.Glob(g, text) {
			return true
		}
	}
	return false
}

// announce logs the command before it runs: its first word, directory, user and group.
func (m runner) announce(_ context.Context, j *job) error {
	if j.level == quiet {
		return nil
	}
	word, err := firstWord(j.cmd)
	if err != nil {
		return err
	}
	if _, list := j.cmd.([]any); !list {
		word = "'" + word + "'"
	}
	text := "Executing command " + word + " "
	if j.runas != "" {
		text += "as user '" + j.runas + "' "
	}
	if j.group != "" {
		text += "in group '" + j.group + "' "
	}
	text += "in directory '" + j.cwd + "'"
	if j.bg {
		text += ". Executing command in the background, no output will be logged."
	}
	m.env.Log.Info(j.callback(text))
	return nil
}

// setMask parses umask like Python's int(mask, 8).
func setMask(_ context.Context, j *job) error {
	if j.umask == nil {
		return nil
	}
	digits := strings.TrimLeft(data.Str(j.umask), "0")
	if digits == "" {
		return loader.Execution("Zero umask is not allowed.")
	}
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 8, 32)
	if err != nil {
		return loader.Execution("Invalid umask: '%s'", data.Str(j.umask))
	}
	j.mask = int(n & 0o777)
	return nil
}

func checkDir(_ context.Context, j *job) error {
	if info, err := os.Stat(j.cwd); filepath.IsAbs(j.cwd) && err == nil && info.IsDir() {
		return nil
	}
	return loader.Execution("Specified cwd '%s' either not absolute or does not exist", j.cwd)
}

// checkTimeout rejects a timeout that is not a number, with the exception of
// salt/utils/timed_subprocess.py.
func checkTimeout(_ context.Context, j *job) error {
	if _, ok := seconds(j.timeout); ok || j.useVT || !data.Truth(j.timeout) {
		return nil
	}
	return loader.Exception("salt.exceptions.TimedProcTimeoutError",
		"Error: timeout %s must be a number",
		data.Str(j.timeout))
}

// seconds returns a timeout, and whether there is one.
func seconds(v any) (time.Duration, bool) {
	switch v.(type) {
	case int, int64, float64, bool:
	default:
		return 0, false
	}
	n, err := loader.Float(v)
	if err != nil || n == 0 {
		return 0, false
	}
	const most = 1e9 // some thirty years, so that it fits into a Duration
	return time.Duration(min(max(n, 0), most) * float64(time.Second)), true
}

// start runs the program and waits for it, unless it runs in the background. The error is that of
// Env.Run.
func (m runner) start(ctx context.Context, c *exec.Cmd, j *job) error {
	if j.bg {
		return j.place().enter(c, func() error { return process.Start(c) })
	}
	if d, ok := seconds(j.timeout); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, process.ErrTimeout)
		defer cancel()
	}
	return j.place().enter(c, func() error { return m.env.Run(ctx, c) })
}

// runPlain runs the program without a terminal.
func (m runner) runPlain(ctx context.Context, j *job) (*outcome, error) {
	c, err := command(j)
	if err != nil {
		return nil, j.notStarted(err)
	}
	k, kept, release := newCapture(ctx)
	defer release()
	if !j.bg {
		k.take(c)
		if j.merge {
			c.Stderr = c.Stdout
		}
		c.Stdin = j.input()
	}
	runErr := m.start(kept, c, j)
	switch {
	case k.over():
		return nil, j.tooMuch()
	case errors.Is(runErr, process.ErrTimeout):
		return j.timeoutOutcome(c), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	code, err := exitCode(runErr)
	if err != nil {
		return nil, j.notStarted(err)
	}
	o := &outcome{pid: pid(c), retcode: code, keys: []string{"pid", "retcode", "stdout", "stderr"}}
	if j.bg {
		o.retcode = nil
		return o, nil
	}
	return o, m.collect(j, o, k)
}

// collect decodes the output and sets the return code to 0 for a success.
func (m runner) collect(j *job, o *outcome, k *capture) (err error) {
	if o.stdout, err = m.decode(j, k.out.text.String(), "stdout"); err != nil {
		return err
	}
	if o.stderr, err = m.decode(j, k.errs.text.String(), "stderr"); err != nil {
		return err
	}
	if len(o.stdout)+len(o.stderr) > mostOutput() { // a replaced byte becomes up to three
		return j.tooMuch()
	}
	if j.rstrip {
		o.stdout, o.stderr = rstrip(o.stdout), rstrip(o.stderr)
	}
	if j.good.include(o) {
		o.retcode = int64(0)
	}
	return nil
}

func pid(c *exec.Cmd) int {
	if c.Process == nil {
		return 0
	}
	return c.Process.Pid
}

// timeoutOutcome returns the outcome of a timeout, with a message as output.
func (j *job) timeoutOutcome(c *exec.Cmd) *outcome {
	what := data.Str(j.cmd)
	return &outcome{
		pid: pid(c), retcode: int64(1), keys: []string{"stdout", "stderr", "retcode", "pid"},
		stdout: j.secret(what) + " : Timed out after " + data.Str(j.timeout) + " seconds",
	}
}

// timedOut reports whether o is a timeoutOutcome.
func (o *outcome) timedOut() bool { return o.keys[0] == "stdout" }

// secret returns text, or REDACTED if the command must not be shown.
func (j *job) secret(text string) string {
	if j.level == quiet {
		return "REDACTED"
	}
	return text
}

// logOutcome logs what the original's _run logs.
func (m runner) logOutcome(j *job, o *outcome) error {
	if j.level == quiet {
		return nil
	}
	l := j.level
	if failed := o.retcode != int64(0); failed && !j.noRet {
		l = max(l, levelError)
		word, err := firstWord(j.cmd)
		if err != nil {
			return err
		}
		m.env.Log.Error(j.callback("Command '" + word + "' failed with return code: " +
			data.Str(o.retcode)))
	}
	if o.stdout != "" {
		logAt(m.env.Log, l, "stdout: %s", j.callback(o.stdout))
	}
	if o.stderr != "" {
		logAt(m.env.Log, l, "stderr: %s", j.callback(o.stderr))
	}
	if data.Truth(o.retcode) {
		logAt(m.env.Log, l, "retcode: %s", data.Str(o.retcode))
	}
	return nil
}

// report logs what the original's run logs in addition, and returns the error of raise_err. given
// is the command as the caller gave it.
func (m commands) report(r *request, given any, o *outcome, raise bool, shown string) error {
	if r.level == quiet {
		return nil
	}
	l := r.level
	if o.retcode != int64(0) && !r.noRet {
		l = max(l, levelError)
		word, err := firstWord(given)
		if err != nil {
			return err
		}
		m.env.Log.Error(r.callback("Command '" + word + "' failed with return code: " +
			data.Str(o.retcode)))
		if raise {
			return loader.Execution("%s", r.callback(shown))
		}
	}
	logAt(m.env.Log, l, "output: %s", r.callback(o.stdout))
	return nil
}
