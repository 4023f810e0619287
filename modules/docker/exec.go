package docker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// containerPath is the PATH that programs in containers get.
const containerPath = "PATH=/bin:/usr/bin:/sbin:/usr/sbin:/opt/bin:/usr/local/bin:/usr/local/sbin"

// runArgs are the arguments of run and its relatives in Salt's order.
type runArgs struct {
	Name           string
	Cmd            any
	ExecDriver     any    `default:"None"`
	Stdin          any    `default:"None"`
	PythonShell    bool   `default:"True"`
	OutputLoglevel string `default:"'debug'"`
	UseVT          bool   `name:"use_vt" default:"False"`
	IgnoreRetcode  bool   `default:"False"`
	KeepEnv        any    `default:"None"`
}

// run runs a command in a container and returns its output.
//
// cmd
//
//	The command. If it has characters that a shell interprets, the container's sh reads it.
//
// stdin
//
//	Text for its standard input.
//
// python_shell
//
//	False never uses a shell.
//
// keep_env
//
//	True keeps the variables of the container. A list, or names with commas, adds these variables of the
//	minion to PATH, which is the only one otherwise.
//
// CLI Example:
//
//	salt myminion docker.run mycontainer 'ls -l /etc'
func (m *module) run(ctx context.Context, a runArgs) (string, error) {
	ran, err := m.exec(ctx, a, true)
	return ran.Stdout, err
}

// runAll runs a command in a container as docker.run does, and returns a dictionary with its pid, retcode,
// stdout and stderr.
//
// CLI Example:
//
//	salt myminion docker.run_all mycontainer 'ls -l /etc'
func (m *module) runAll(ctx context.Context, a runArgs) (*data.Map, error) {
	ran, err := m.exec(ctx, a, false)
	if err != nil {
		return nil, err
	}
	return data.NewMap("pid", ran.PID, "retcode", ran.Code, "stdout", ran.Stdout, "stderr", ran.Stderr), nil
}

// retcode runs a command in a container as docker.run does, and returns its exit code.
//
// CLI Example:
//
//	salt myminion docker.retcode mycontainer 'ls -l /etc'
func (m *module) retcode(ctx context.Context, a runArgs) (int64, error) {
	ran, err := m.exec(ctx, a, false)
	return ran.Code, err
}

// runStdout runs a command in a container as docker.run does, and returns its standard output only.
//
// CLI Example:
//
//	salt myminion docker.run_stdout mycontainer 'ls -l /etc'
func (m *module) runStdout(ctx context.Context, a runArgs) (string, error) {
	ran, err := m.exec(ctx, a, false)
	return ran.Stdout, err
}

// runStderr runs a command in a container as docker.run does, and returns its standard error only.
//
// CLI Example:
//
//	salt myminion docker.run_stderr mycontainer 'ls -l /etc'
func (m *module) runStderr(ctx context.Context, a runArgs) (string, error) {
	ran, err := m.exec(ctx, a, false)
	return ran.Stderr, err
}

// exec runs a command in a container.
func (m *module) exec(ctx context.Context, a runArgs, merge bool) (docker.Ran, error) {
	defer m.mine(ctx)
	if err := m.checkDriver(ctx, a.ExecDriver); err != nil {
		return docker.Ran{}, err
	}
	argv, err := argvOf(a.Cmd, a.PythonShell)
	if err != nil {
		return docker.Ran{}, err
	}
	e, err := m.engine(ctx)
	if err != nil {
		return docker.Ran{}, err
	}
	prefix, kept, err := m.variables(ctx, a.Name, a.KeepEnv)
	if err != nil {
		return docker.Ran{}, err
	}
	cmd := docker.Command{Argv: append(prefix, argv...), Env: kept, Merge: merge}
	if data.Truth(a.Stdin) {
		cmd.Stdin = []byte(data.Str(a.Stdin))
	}
	ran, err := e.Exec(ctx, a.Name, cmd)
	if err != nil {
		return docker.Ran{}, m.failed("exec_create", err)
	}
	ran.Stdout, ran.Stderr = strings.TrimRight(ran.Stdout, " \t\r\n"), strings.TrimRight(ran.Stderr, " \t\r\n")
	if ran.Code != 0 && !a.IgnoreRetcode {
		loader.ContextOf(ctx).SetRetcode(int(ran.Code))
	}
	return ran, nil
}

// checkDriver refuses ways to run programs other than the engine's own.
func (m *module) checkDriver(ctx context.Context, v any) error {
	if v == nil {
		var err error
		if v, err = calls.Option[any](ctx, m.env, "docker.exec_driver", "docker-exec"); err != nil {
			return err
		}
	}
	switch data.Str(v) {
	case "docker-exec":
		return nil
	case "lxc-attach", "nsenter":
		return loader.Invocation("The execution driver %s is not supported; use docker-exec", data.Str(v))
	}
	return loader.Invocation("Invalid command execution driver. Valid drivers are: lxc-attach, nsenter, docker-exec")
}

// argvOf returns the words of a command. A shell reads it if it has characters of a shell.
func argvOf(v any, shell bool) ([]string, error) {
	if words, ok := v.([]any); ok {
		return data.Texts(words), nil
	}
	line := data.Str(v)
	if shell && strings.ContainsAny(line, "|&;<>()$`*?[]#~={}!\n") {
		return []string{"sh", "-c", line}, nil
	}
	words, err := process.Words(line)
	if err == nil && len(words) == 0 {
		return nil, loader.Invocation("The command is empty")
	}
	return words, err
}

// variables returns the words in front of a command that leave it PATH and the variables to keep, and those
// with their values: they are no arguments, which others can read.
func (m *module) variables(ctx context.Context, container string, keep any) (argv, kept []string, err error) {
	if keep == true {
		return nil, nil, nil
	}
	var names []string
	if _, ok := keep.(bool); !ok {
		names = words(keep)
	}
	var set []string
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			set, kept = append(set, name), append(kept, name+"="+v)
		}
	}
	var path []string
	if !slices.Contains(names, "PATH") {
		set, path = append(set, "PATH"), []string{containerPath}
	}
	if len(kept) == 0 {
		return append([]string{"env", "-i"}, path...), nil, nil
	}
	found, err := m.container(ctx, container)
	if err != nil {
		return nil, nil, err
	}
	argv = []string{"env"}
	for _, v := range append(data.TextsOf(dict(found.Value("Config")).Value("Env")), "HOME", "HOSTNAME") {
		if name, _, _ := strings.Cut(v, "="); name != "" && !slices.Contains(set, name) {
			argv = append(argv, "-u", name)
		}
	}
	return append(argv, path...), kept, nil
}

type scriptArgs struct {
	Name           string
	Source         string
	Saltenv        any    `default:"'base'"`
	Args           any    `default:"None"`
	Template       any    `default:"None"`
	ExecDriver     any    `default:"None"`
	Stdin          any    `default:"None"`
	PythonShell    bool   `default:"True"`
	OutputLoglevel string `default:"'debug'"`
	IgnoreRetcode  bool   `default:"False"`
	UseVT          bool   `name:"use_vt" default:"False"`
	KeepEnv        any    `default:"None"`
}

// script copies a script into a container, runs it there, and returns a dictionary with its pid, retcode,
// stdout and stderr.
//
// source
//
//	A path on the minion or a salt:// path.
//
// args
//
//	Arguments of the script.
//
// template
//
//	The engine that renders it first, such as jinja.
//
// CLI Example:
//
//	salt myminion docker.script mycontainer salt://docker_script.py
//	salt myminion docker.script mycontainer salt://scripts/runme.sh 'arg1 arg2 "arg 3"'
func (m *module) script(ctx context.Context, a scriptArgs) (*data.Map, error) {
	local, done, err := m.fetchScript(ctx, a)
	if err != nil {
		return nil, err
	}
	defer done()
	if local == "" {
		return data.NewMap("pid", int64(0), "retcode", int64(1), "stdout", "", "stderr", "", "cache_error", true), nil
	}
	made, err := m.exec(ctx, runArgs{Name: a.Name, Cmd: []any{"mktemp", "/tmp/salt.XXXXXX" + extension(a.Source)},
		ExecDriver: a.ExecDriver}, false)
	if err != nil {
		return nil, err
	}
	path := made.Stdout
	if made.Code != 0 || !filepath.IsAbs(path) {
		return nil, loader.Execution("make a file for the script in container %s: %s", a.Name, made.Stderr)
	}
	defer func() {
		_, err := m.exec(context.WithoutCancel(ctx), runArgs{Name: a.Name, Cmd: []any{"rm", path}, ExecDriver: a.ExecDriver}, false)
		if err != nil {
			m.env.Log.WithError(err).Warnf("docker: remove %s of container %s", path, a.Name)
		}
	}()
	if err := m.put(ctx, a.Name, local, path, 0o700); err != nil {
		return nil, err
	}
	line := path
	if data.Truth(a.Args) {
		line += " " + data.Str(a.Args)
	}
	return m.runAll(ctx, runArgs{Name: a.Name, Cmd: line, ExecDriver: a.ExecDriver, Stdin: a.Stdin, PythonShell: a.PythonShell,
		IgnoreRetcode: a.IgnoreRetcode, KeepEnv: a.KeepEnv})
}

// extension returns the ending of a script's name if a file in a container may have it.
func extension(source string) string {
	ending := filepath.Ext(source)
	if len(ending) > 10 || strings.Trim(ending, ".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return ""
	}
	return ending
}

// fetchScript returns the path of a script on the minion, or "" if there is none. done removes a script that
// was rendered, which may hold secrets of the pillar.
func (m *module) fetchScript(ctx context.Context, a scriptArgs) (path string, done func(), err error) {
	done = func() {}
	if !data.Truth(a.Template) {
		path, err = calls.CacheFile(ctx, m.env, calls.Source{Path: a.Source, SaltEnv: a.Saltenv})
		return path, done, err
	}
	dir, err := os.MkdirTemp("", "brine-docker-*")
	if err != nil {
		return "", done, loader.OSError(err)
	}
	done = func() {
		if err := os.RemoveAll(dir); err != nil {
			m.env.Log.WithError(err).Warnf("docker: remove the rendered script %s", dir)
		}
	}
	path = filepath.Join(dir, "script")
	if err = os.WriteFile(path, nil, 0o600); err != nil {
		done()
		return "", done, loader.OSError(err)
	}
	rendered, err := calls.GetTemplate(ctx, m.env, calls.Template{Path: a.Source, Dest: path,
		Engine: data.Str(a.Template), SaltEnv: a.Saltenv})
	if err != nil || rendered == "" {
		done()
		return "", func() {}, err
	}
	return path, done, nil
}

// scriptRetcode runs a script as docker.script does, and returns its exit code.
//
// CLI Example:
//
//	salt myminion docker.script_retcode mycontainer salt://docker_script.py
func (m *module) scriptRetcode(ctx context.Context, a scriptArgs) (any, error) {
	ret, err := m.script(ctx, a)
	if err != nil {
		return nil, err
	}
	return ret.Value("retcode"), nil
}
