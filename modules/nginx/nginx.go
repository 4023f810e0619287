// Package nginx is Salt's module nginx: version, configuration, signals and status of the web server
// nginx, by its program (salt/modules/nginx.py).
//
// nginx.go runs the program, and page.go reads the status page.
//
// Differences from Salt: the status page is read over HTTP or HTTPS only, and a page in another form
// than that of nginx has no status.
package nginx

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module nginx. It is available on hosts with the program nginx.
func Plugin() loader.Plugin { return loader.Plugin{Name: "nginx", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("nginx") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The nginx execution module cannot be loaded: nginx is not installed.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("build_info", m.buildInfo),
		loader.F("configtest", m.configtest),
		loader.F("signal", m.signal),
		loader.F("status", m.status),
		loader.F("version", m.version),
	}}, nil
}

type noArgs struct{}

// output runs nginx with an option, and returns the lines that it prints.
func (m *module) output(ctx context.Context, option string) ([]string, error) {
	text, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{process.Find("nginx"), option}})
	lines := difflib.Lines(text)
	for i, line := range lines {
		lines[i] = difflib.Bare(line)
	}
	return lines, err
}

// version returns the version of nginx.
//
// CLI Example:
//
//	salt '*' nginx.version
func (m *module) version(ctx context.Context, _ noArgs) (any, error) {
	lines, err := m.output(ctx, "-v")
	switch {
	case err != nil:
		return nil, err
	case len(lines) == 0:
		return nil, loader.Execution("nginx -v prints no version")
	}
	return lines[0][strings.LastIndexByte(lines[0], '/')+1:], nil
}

var buildArgument = regexp.MustCompile(`(?:\S*'.*')|(?:\S+)`)

// buildInfo returns what nginx says of its build: info, a list of lines, and build arguments, the
// list of the options of configure.
//
// CLI Example:
//
//	salt '*' nginx.build_info
func (m *module) buildInfo(ctx context.Context, _ noArgs) (any, error) {
	lines, err := m.output(ctx, "-V")
	if err != nil {
		return nil, err
	}
	return build(lines), nil
}

func build(lines []string) *data.Map {
	info, found := []any{}, data.NewMap("info", nil)
	for _, line := range lines {
		if !strings.HasPrefix(line, "configure argument") {
			info = append(info, line)
			continue
		}
		words := buildArgument.FindAllString(line, -1)
		found.Set("build arguments", data.Values(words[min(2, len(words)):]))
	}
	found.Set("info", info)
	return found
}

// configtest tests the configuration: result is whether it is right, comment says so, and stdout or
// stderr has the words of nginx.
//
// CLI Example:
//
//	salt '*' nginx.configtest
func (m *module) configtest(ctx context.Context, _ noArgs) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{process.Find("nginx"), "-t"}})
	switch {
	case err != nil:
		return nil, err
	case ran.Retcode != 0:
		return data.NewMap("comment", "Syntax Error", "stderr", ran.Stderr, "result", false), nil
	}
	return data.NewMap("comment", "Syntax OK", "stdout", ran.Stderr, "result", true), nil
}

type signalArgs struct {
	Signal any `default:"None"`
}

// signal makes nginx start, reopen, stop, quit or reload, and returns what it prints. Other signals
// are ignored.
//
// CLI Example:
//
//	salt '*' nginx.signal reload
func (m *module) signal(ctx context.Context, a signalArgs) (any, error) {
	signal, _ := a.Signal.(string)
	if !slices.Contains([]string{"start", "reopen", "stop", "quit", "reload"}, signal) {
		return nil, nil
	}
	argv := []string{process.Find("nginx")}
	if signal != "start" {
		argv = append(argv, "-s", signal)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	switch {
	case err != nil:
		return nil, err
	case ran.Stderr != "":
		return strings.TrimSpace(ran.Stderr), nil
	case ran.Stdout != "":
		return strings.TrimSpace(ran.Stdout), nil
	}
	return fmt.Sprintf("Command: %q completed successfully!", strings.Join(argv, " ")), nil
}
