// Package pecl is Salt's module pecl: extensions of PHP that the program pecl installs
// (salt/modules/pecl.py).
//
// Differences from Salt: several extensions are words of their own; Salt passes them as one. Without
// force, pecl.install looks whether these extensions are installed, not whether any is. Names that pecl
// would read as options are refused, and so are line ends.
package pecl

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module pecl. It is available on hosts with the program pecl.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pecl", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("pecl") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The pecl execution module not loaded: pecl binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("install", m.install),
		loader.F("list", m.list).Def("list_"),
		loader.F("uninstall", m.uninstall),
		loader.F("update", m.update),
	}}, nil
}

// answers are empty lines: the default answers to the questions of an installation.
const answers = 200

// pecl runs pecl, and returns its output, "" if it fails.
func (m *module) pecl(ctx context.Context, defaults bool, words []string, names ...string) (string, error) {
	out, _, err := m.run(ctx, defaults, words, names...)
	return out, err
}

// run is pecl that also reports whether pecl succeeds.
func (m *module) run(
	ctx context.Context, defaults bool, words []string, names ...string,
) (out string, ok bool, err error) {
	if err := process.PlainOperands(names...); err != nil {
		return "", false, loader.Execution("%w", err)
	}
	run := calls.Run{Argv: append(append([]string{"pecl"}, words...), names...)}
	if defaults {
		run.Stdin = strings.Repeat("\n", answers)
	}
	ran, err := calls.RunAll(ctx, m.env, run)
	if err != nil || ran.Retcode == 0 {
		return ran.Stdout, err == nil, err
	}
	m.env.Log.Error("Problem running pecl. Is php-pear installed?")
	return "", false, nil
}

type installArgs struct {
	Pecls          []any
	Defaults       any    `default:"False"`
	Force          any    `default:"False"`
	PreferredState string `default:"'stable'"`
}

// install installs extensions. It returns whether they are installed; with force the output of pecl.
//
// pecls
//
//	An extension, or a list: mongo, mongo-1.6.16, CHANNEL/NAME.
//
// defaults
//
//	True: answer the questions of the installation with the defaults.
//
// force
//
//	True: also if they are installed.
//
// preferred_state
//
//	stable, beta, alpha or another state of extensions.
//
// CLI Example:
//
//	salt '*' pecl.install fuse
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	names := data.Texts(a.Pecls)
	words := []string{"-d", "preferred_state=" + a.PreferredState, "install"}
	if strings.ContainsAny(a.PreferredState, "\n\r\x00") {
		return nil, loader.Execution("%q has more than one line", a.PreferredState)
	}
	if data.Truth(a.Force) {
		return m.pecl(ctx, data.Truth(a.Defaults), append(words, "-f"), names...)
	}
	_, ok, err := m.run(ctx, data.Truth(a.Defaults), words, names...)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		name = strings.TrimPrefix(name, "channel://")
		if isArchive(name) {
			if !ok {
				return false, nil
			}
			continue
		}
		channel, extension, found := strings.Cut(name, "/")
		if !found {
			channel, extension = "", name
		}
		installed, err := m.installed(ctx, channel)
		if err != nil || !has(installed, extension) {
			return false, err
		}
	}
	return true, nil
}

// isArchive reports whether a name is an address or a path, which does not say what it installs.
func isArchive(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".tgz", ".tar", ".gz", ".xml":
		return true
	}
	return strings.Contains(name, "://") || strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".")
}

// has reports whether an extension is installed: in its version if the name has one, or in a state
// that is at least as stable as that of the name.
func has(installed *data.Map, name string) bool {
	for extension, v := range installed.All() {
		version, state := data.Str(v.([]any)[0]), data.Str(v.([]any)[1])
		suffix, found := strings.CutPrefix(name, data.Str(extension))
		if found && (suffix == "" || suffix == "-"+version ||
			strings.HasPrefix(suffix, "-") && stable(state, suffix[1:])) {
			return true
		}
	}
	return false
}

// stable reports whether a state is at least as stable as a wanted one.
func stable(state, wanted string) bool {
	states := []string{"stable", "beta", "alpha", "devel", "snapshot"}
	i, j := slices.Index(states, state), slices.Index(states, wanted)
	return i >= 0 && i <= j
}

type peclsArgs struct{ Pecls []any }

// uninstall removes extensions, and returns the output of pecl.
//
// CLI Example:
//
//	salt '*' pecl.uninstall fuse
func (m *module) uninstall(ctx context.Context, a peclsArgs) (any, error) {
	return m.pecl(ctx, false, []string{"uninstall"}, data.Texts(a.Pecls)...)
}

// update updates extensions, and returns the output of pecl.
//
// CLI Example:
//
//	salt '*' pecl.update fuse
func (m *module) update(ctx context.Context, a peclsArgs) (any, error) {
	return m.pecl(ctx, false, []string{"install", "-U"}, data.Texts(a.Pecls)...)
}

type listArgs struct {
	Channel any `default:"None"`
}

// list returns the installed extensions by name, each with its version and its state.
//
// channel
//
//	Only those of a channel.
//
// CLI Example:
//
//	salt '*' pecl.list
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	return m.installed(ctx, calls.Text(a.Channel))
}

var columns = regexp.MustCompile(`^([^ ]+) +([^ ]+) +([^ ]+)`)

func (m *module) installed(ctx context.Context, channel string) (*data.Map, error) {
	words, names := []string{"list"}, []string(nil)
	if channel != "" {
		words, names = []string{"list", "-c"}, []string{channel}
	}
	out, err := m.pecl(ctx, false, words, names...)
	found := &data.Map{}
	for line := range strings.SplitSeq(out, "\n") {
		if c := columns.FindStringSubmatch(line); c != nil {
			found.Set(c[1], []any{c[2], c[3]})
		}
	}
	return found, err
}
