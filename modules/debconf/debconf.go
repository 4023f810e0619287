// Package debconf is Salt's module debconf: the answers to questions that packages ask during
// installation (salt/modules/debconfmod.py).
//
// Differences from Salt: answers are passed to debconf-set-selections on standard input and never
// written to a file; answers that the program rejects are an error; questions owned by several
// packages are listed under each of them.
package debconf

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module debconf. It is available if debconf-utils is installed.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "debconf", File: "debconfmod", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Value("os_family") != "Debian" {
		return nil, errors.New("The debconfmod module could not be loaded: unsupported OS family") //nolint:staticcheck // Salt's text
	}
	if _, err := exec.LookPath("debconf-get-selections"); err != nil {
		return nil, errors.New("The debconfmod module could not be loaded: debconf-utils is not installed.") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get_selections", m.getSelections),
		loader.F("set", m.set).Def("set_").Secret("value"),
		loader.F("set_file", m.setFile),
		loader.F("set_template", m.setTemplate),
		loader.F("show", m.show),
	}}, nil
}

type getArgs struct {
	Fetchempty bool `default:"True"`
}

// getSelections returns the answers of all packages: for each package a list of question, type and
// value.
//
// fetchempty : True
//
//	Include empty answers.
//
// CLI Example:
//
//	salt '*' debconf.get_selections
func (m *module) getSelections(ctx context.Context, a getArgs) (any, error) {
	return m.selections(ctx, a.Fetchempty)
}

func (m *module) selections(ctx context.Context, empty bool) (*data.Map, error) {
	o, err := m.run(ctx, "", "debconf-get-selections")
	if err != nil {
		return nil, err
	}
	return parse(o, empty), nil
}

// parse parses lines of owners, question, type and value, separated by tabs.
func parse(text string, empty bool) *data.Map {
	all := &data.Map{}
	for line := range strings.Lines(text) {
		cols := strings.SplitN(strings.TrimRight(line, "\r\n"), "\t", 4)
		if strings.HasPrefix(line, "#") || len(cols) < 4 || !empty && cols[3] == "" {
			continue
		}
		for owner := range strings.SplitSeq(cols[0], ", ") {
			answers, _ := all.Value(owner).([]any)
			all.Set(owner, append(answers, []any{cols[1], cols[2], cols[3]}))
		}
	}
	return all
}

type nameArgs struct{ Name string }

// show returns the answers of a package as a list of question, type and value, or None if debconf
// has none.
//
// CLI Example:
//
//	salt '*' debconf.show <package name>
func (m *module) show(ctx context.Context, a nameArgs) (any, error) {
	all, err := m.selections(ctx, true)
	if err != nil {
		return nil, err
	}
	return all.Value(a.Name), nil
}

type setArgs struct {
	Package, Question, Type string
	Value                   any
	Extra                   []any `args:"extra"`
}

// set sets the answer to a question of a package. Further arguments are appended to the value.
//
// CLI Example:
//
//	salt '*' debconf.set <package> <question> <type> <value> [<value> ...]
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	words := []string{a.Package, a.Question, a.Type, data.Str(a.Value)}
	for _, word := range a.Extra {
		words = append(words, data.Str(word))
	}
	line := strings.Join(words, " ")
	if strings.ContainsAny(line, "\n\r") {
		return nil, loader.Invocation("the answer to %s of %s has more than one line",
			a.Question, a.Package)
	}
	_, err := m.run(ctx, line+"\n", "debconf-set-selections")
	return err == nil, err
}

type templateArgs struct {
	Path, Template    string
	Context, Defaults any
	Saltenv           any       `default:"'base'"`
	Kwargs            *data.Map `kwargs:"kwargs"`
}

// setTemplate sets answers from a file, which it first renders with a template engine.
//
// template
//
//	The engine.
//
// context, defaults
//
//	Variables for it; those of context override those of defaults.
//
// CLI Example:
//
//	salt '*' debconf.set_template salt://pathto/pkg.selections.jinja jinja None None
func (m *module) setTemplate(ctx context.Context, a templateArgs) (any, error) {
	path, err := calls.GetTemplate(ctx, m.env, calls.Template{
		Path: a.Path, Engine: a.Template, SaltEnv: a.Saltenv, Context: a.Context,
		Defaults: a.Defaults, More: a.Kwargs,
	})
	if err != nil || path == "" {
		return false, err
	}
	return m.load(ctx, path)
}

type fileArgs struct {
	Path    string
	Saltenv any       `default:"'base'"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// setFile sets answers from a file, which may be given as a URL: salt://, http(s)://. Each line has
// package, question, type and value.
//
// CLI Example:
//
//	salt '*' debconf.set_file salt://pathto/pkg.selections
func (m *module) setFile(ctx context.Context, a fileArgs) (any, error) {
	path, err := calls.CacheFile(ctx, m.env, calls.Source{Path: a.Path, SaltEnv: a.Saltenv})
	if err != nil || path == "" {
		return false, err
	}
	return m.load(ctx, path)
}

func (m *module) load(ctx context.Context, path string) (any, error) {
	_, err := m.run(ctx, "", "debconf-set-selections", path)
	return err == nil, err
}

// run runs a program of debconf with an input, "" for none, and returns its output. The output is
// not logged because it may contain passwords.
func (m *module) run(ctx context.Context, stdin string, argv ...string) (string, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, Stdin: stdin, Log: "quiet"})
	if err == nil && ran.Retcode != 0 {
		err = loader.Execution("Running %s failed: %s", argv[0], ran.Stderr)
	}
	return ran.Stdout, err
}
