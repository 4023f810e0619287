package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// script fetches a script from the master's file server, a web server or the minion's own disk, and
// runs it.
//
// The result is that of cmd.run_all. Arguments besides those of cmd.run:
//
//	source    salt://…, http://…, file://… or a path on the minion
//	args      the arguments of the script, as text or as a list
//	template  engine that renders the script first
//
// CLI Example:
//
//	salt '*' cmd.script salt://scripts/runme.sh
//	salt '*' cmd.script salt://scripts/runme.sh 'arg1 arg2 "arg 3"'
//	salt '*' cmd.script salt://scripts/windows_task.ps1 args=' -Input c:\tmp\infile.txt' shell='powershell'
//	salt '*' cmd.script salt://scripts/runme.sh stdin='one\ntwo\nthree\nfour\nfive\n'
func (m scripts) script(ctx context.Context, a *arguments) (any, error) {
	r := m.requests.read(ctx, a)
	o, err := m.runScript(ctx, a, r)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return data.NewMap("pid", int64(0), "retcode", int64(1), "stdout", "", "stderr", "",
			"cache_error", true), nil
	}
	return o.shown(a), nil
}

// scriptRetcode fetches a script, runs it and returns its return code. The arguments are those of
// cmd.script, but by default the script is rendered with jinja.
//
// CLI Example:
//
//	salt '*' cmd.script_retcode salt://scripts/runme.sh
//	salt '*' cmd.script_retcode salt://scripts/runme.sh 'arg1 arg2 "arg 3"'
func (m scripts) scriptRetcode(ctx context.Context, a *arguments) (any, error) {
	v, err := m.script(ctx, a)
	if err != nil {
		return nil, err
	}
	return v.(*data.Map).Value("retcode"), nil
}

// runScript copies the script to a new file and runs it. The outcome is nil if the script is not
// available.
//
// Like Salt's, the file is in cwd, but only if nobody else can replace it there; otherwise it is in
// the directory for temporary files. It is written, and its owner set, through the descriptor that
// created it, never by name.
func (m scripts) runScript(ctx context.Context, a *arguments, r *request) (*outcome, error) {
	source := data.Str(a.get("source"))
	if r.saltenv == nil {
		r.saltenv = defaultSaltenv(m.env)
	}
	dir := ""
	if data.Truth(r.cwd) {
		dir = data.Str(r.cwd)
	}
	f, err := scriptFile(dir, ending(source))
	if err != nil {
		return nil, err
	}
	path := f.Name()
	defer remove(m.env.Log, path)
	ok, err := m.fetch(ctx, a, r, source, f)
	if err == nil && ok {
		err = m.ready(ctx, f, r.runas)
	}
	if closeErr := loader.OSError(f.Close()); err == nil {
		err = closeErr
	}
	if err != nil || !ok {
		return nil, err
	}
	r.cmd, r.script, r.template = quoteWord(path), true, ""
	if args := a.get("args"); data.Truth(args) {
		words, err := scriptWords(args)
		if err != nil {
			return nil, err
		}
		r.cmd, r.useShell = append([]any{path}, words...), false
	}
	return m.runner.execute(ctx, r)
}

// scriptWords returns the arguments of a script: the items of a list, the keys of a dictionary, or
// a text split at its blanks outside of quotes. No shell interprets them.
func scriptWords(args any) ([]any, error) {
	switch args := args.(type) {
	case []any:
		return args, nil
	case data.Tuple:
		return args, nil
	case *data.Map:
		return args.Keys(), nil
	case string:
		words, err := splitWords(args)
		return data.Values(words), err
	}
	return nil, loader.TypeError("Value after * must be an iterable, not %s", loader.TypeName(args))
}

// fetch writes the script to f, and reports whether it is available.
func (m scripts) fetch(
	ctx context.Context, a *arguments, r *request, source string, f *os.File,
) (bool, error) {
	if r.template != "" {
		return m.fetchRendered(ctx, a, r, source, f)
	}
	cached, err := m.cache(ctx, source, r.saltenv)
	if err != nil || cached == "" {
		return false, err
	}
	return true, copyFile(f, cached)
}

// fetchRendered is fetch for a template. cp.get_template writes to a path, so it gets one in a
// private directory.
func (m scripts) fetchRendered(
	ctx context.Context, a *arguments, r *request, source string, f *os.File,
) (bool, error) {
	if !m.env.Functions.Has("cp.get_template") {
		return false, loader.Execution("template '%s' of a script needs cp.get_template, which is not available", r.template)
	}
	kwargs := a.values.Clone()
	for _, p := range strings.Fields(scriptParams) {
		kwargs.Delete(p)
	}
	kwargs.Delete("__env__")
	dir, err := os.MkdirTemp("", tempPrefix+"*")
	if err != nil {
		return false, loader.OSError(err)
	}
	defer removeAll(m.env.Log, dir)
	path := filepath.Join(dir, filepath.Base(f.Name()))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return false, loader.OSError(err)
	}
	rendered, err := calls.GetTemplate(ctx, m.env, calls.Template{
		Path: source, Dest: path, Engine: r.template, SaltEnv: r.saltenv, More: kwargs,
	})
	if err != nil || rendered == "" {
		return false, err
	}
	return true, copyFile(f, path)
}

// cache returns the path of a local copy of the source, or "" if it is not available.
func (m scripts) cache(ctx context.Context, source string, saltenv any) (string, error) {
	if m.env.Functions.Has("cp.cache_file") {
		return calls.CacheFile(ctx, m.env, calls.Source{Path: source, SaltEnv: saltenv})
	}
	path := strings.TrimPrefix(source, "file://")
	if scheme, _, ok := strings.Cut(path, "://"); ok {
		return "", loader.Execution("a script of scheme '%s' needs cp.cache_file, which is not available", scheme)
	}
	if !filepath.IsAbs(path) {
		return "", loader.Execution("Path '%s' is not absolute", path)
	}
	return path, nil
}

// ready makes the script readable and executable for the user alone.
func (m scripts) ready(ctx context.Context, f *os.File, user string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	if err := f.Chmod(0o500); err != nil {
		return loader.OSError(err)
	}
	return loader.OSError(m.runner.users.setOwner(ctx, f, user))
}

// ending returns the file name extension of a source, which decides how Windows runs it.
func ending(source string) string {
	name, _, _ := strings.Cut(source, "?")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if i := strings.LastIndexByte(name, '.'); i > 0 && strings.Trim(name[:i], ".") != "" {
		return name[i:]
	}
	return ""
}

// scriptFile creates a file in dir, or in the directory for temporary files if dir is not safe.
func scriptFile(dir, ending string) (*os.File, error) {
	safe, err := safeDir(dir)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		// like Python's mkstemp
		p.Path = filepath.Join(dir, tempPrefix+strings.ToLower(rand.Text()[:8])+ending)
	}
	if err != nil {
		return nil, loader.OSError(err)
	}
	return newFile(safe, ending)
}

// tempPrefix begins the names of our files, like Salt's.
const tempPrefix = "__salt.tmp."

// newFile creates an empty private file. It never opens an existing name, such as a link.
func newFile(dir, ending string) (*os.File, error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*"+ending)
	return f, loader.OSError(err)
}

func copyFile(to *os.File, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return loader.OSError(err)
	}
	defer src.Close()
	_, err = io.Copy(to, src)
	return loader.OSError(err)
}

func remove(log logrus.FieldLogger, path string) {
	if err := os.Remove(path); err != nil {
		log.Errorf("cmd.script: Unable to clean tempfile '%s': %v", path, err)
	}
}

func removeAll(log logrus.FieldLogger, dir string) {
	if err := os.RemoveAll(dir); err != nil {
		log.Errorf("cmd.script: Unable to clean tempfile '%s': %v", dir, err)
	}
}

// execCode runs a snippet in a language and returns what it wrote to standard output.
//
// lang is the interpreter, code the snippet, args a text or a list of arguments. Other arguments
// are those of cmd.run_all.
//
// CLI Example:
//
//	salt '*' cmd.exec_code ruby 'puts "cheese"'
//	salt '*' cmd.exec_code ruby 'puts "cheese"' args='["arg1", "arg2"]' env='{"FOO": "bar"}'
func (m snippets) execCode(ctx context.Context, a *arguments) (any, error) {
	v, err := m.execCodeAll(ctx, a)
	if err != nil {
		return nil, err
	}
	return v.(*data.Map).Value("stdout"), nil
}

// execCodeAll runs a snippet in a language and returns pid, return code, standard output and
// standard error.
//
// lang is the interpreter, code the snippet, args a text or a list of arguments. Other arguments
// are those of cmd.run_all.
//
// CLI Example:
//
//	salt '*' cmd.exec_code_all ruby 'puts "cheese"'
//	salt '*' cmd.exec_code_all ruby 'puts "cheese"' args='["arg1", "arg2"]' env='{"FOO": "bar"}'
func (m snippets) execCodeAll(ctx context.Context, a *arguments) (any, error) {
	code, ok := a.get("code").(string)
	if !ok {
		return nil, loader.TypeError("expected str, bytes, or bytearray not <class '%s'>",
			loader.TypeName(a.get("code")))
	}
	lang := data.Str(a.get("lang"))
	words := []any{lang}
	ending := ""
	if strings.HasPrefix(strings.ToLower(lang), "powershell") {
		words, ending = append(words, "-File"), ".ps1"
	}
	r := m.requests.read(ctx, a)
	path, err := m.codeFile(ctx, ending, code, r.runas)
	if err != nil {
		return nil, err
	}
	defer remove(m.env.Log, path)
	switch args := a.get("args").(type) {
	case string:
		words = append(words, path, args)
	case []any:
		words = append(append(words, path), args...)
	default:
		words = append(words, path)
	}
	r.cmd, r.useShell = words, false
	return m.runMap(ctx, a, r)
}

// codeFile writes a snippet to a new file that only the user can read.
func (m snippets) codeFile(ctx context.Context, ending, code, user string) (string, error) {
	f, err := newFile("", ending)
	if err != nil {
		return "", err
	}
	if _, err = f.WriteString(code); err == nil {
		err = m.runner.users.setOwner(ctx, f, user)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		remove(m.env.Log, f.Name())
	}
	return f.Name(), loader.OSError(err)
}
