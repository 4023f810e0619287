// Package nfs3 is Salt's module nfs3: the directories that this host exports over NFS
// (salt/modules/nfs3.py).
//
// Differences from Salt: a change keeps comments and the lines of other exports as they are; hosts
// and options must be words; a host without options has none.
package nfs3

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module nfs3. It is available on hosts with the program showmount.
func Plugin() loader.Plugin { return loader.Plugin{Name: "nfs3", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("showmount") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The nfs3 execution module failed to load: " +
			"the showmount binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add_export", m.addExport),
		loader.F("del_export", m.delExport),
		loader.F("list_exports", m.listExports),
		loader.F("reload_exports", m.reloadExports),
	}}, nil
}

// path returns the path of the file with exports; the default one is that of the system.
func (m *module) path(file string) string {
	if file == "/etc/exports" {
		return filepath.Join("/", m.env.Root, file)
	}
	return file
}

func (m *module) read(file string) (string, error) {
	src, err := os.ReadFile(m.path(file))
	if err != nil {
		return "", loader.OSError(err)
	}
	return string(src), nil
}

func (m *module) write(file, text string) error {
	path := m.path(file)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := atomicfile.Write(path, []byte(text), atomicfile.Options{Keep: true}); err != nil {
		return loader.OSError(err)
	}
	return nil
}

// An export is a line: directories, and the hosts that may mount them.
type export struct {
	paths   []string
	clients []any
}

// parse returns the export of a line; ok is false for a line without one.
func parse(line string) (e export, ok bool) {
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(line, "#") {
		return e, false
	}
	e.paths = []string{words[0]}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "/") {
			e.paths = append(e.paths, word)
			continue
		}
		hosts, text, given := strings.Cut(word, "(")
		text, _, _ = strings.Cut(text, "(")
		options := []any{}
		if given {
			options = data.Values(strings.Split(strings.ReplaceAll(text, ")", ""), ","))
		}
		e.clients = append(e.clients, data.NewMap("hosts", hosts, "options", options))
	}
	return e, true
}

// exports returns the exports of a file by directory.
func exports(text string) *data.Map {
	all := &data.Map{}
	for line := range strings.SplitSeq(text, "\n") {
		if e, ok := parse(line); ok {
			clients := append(data.ListOf(all.Value(e.paths[0])), e.clients...)
			for _, path := range e.paths {
				all.Set(path, append([]any{}, clients...))
			}
		}
	}
	return all
}

type listArgs struct {
	Exports string `default:"'/etc/exports'"`
}

// listExports returns the exports by directory: a list of hosts, each with its options.
//
// CLI Example:
//
//	salt '*' nfs3.list_exports
func (m *module) listExports(_ context.Context, a listArgs) (any, error) {
	text, err := m.read(a.Exports)
	return exports(text), err
}

type delArgs struct {
	Exports string `default:"'/etc/exports'"`
	Path    any    `default:"None"`
}

// delExport removes the export of a directory, and returns the others.
//
// CLI Example:
//
//	salt '*' nfs3.del_export /etc/exports path=/media/storage
func (m *module) delExport(_ context.Context, a delArgs) (any, error) {
	text, err := m.read(a.Exports)
	if err != nil {
		return nil, err
	}
	if !exports(text).Has(a.Path) {
		return nil, loader.Exception("KeyError", "%s", data.Repr(a.Path))
	}
	text = without(text, data.Str(a.Path))
	return exports(text), m.write(a.Exports, text)
}

// without returns the text of a file without the export of a directory. A line with other directories
// keeps those.
func without(text, path string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		e, ok := parse(line)
		if !ok || !slices.Contains(e.paths, path) {
			kept.WriteString(line)
			continue
		}
		words := slices.DeleteFunc(strings.Fields(line), func(word string) bool { return word == path })
		if len(e.paths) > 1 && len(words) > 0 && strings.HasPrefix(words[0], "/") {
			kept.WriteString(strings.Join(words, " ") + "\n")
		}
	}
	return kept.String()
}

type addArgs struct {
	Exports string `default:"'/etc/exports'"`
	Path    any    `default:"None"`
	Hosts   any    `default:"None"`
	Options any    `default:"None"`
}

// addExport exports a directory to hosts, besides those that may mount it already. It returns the
// hosts with their options.
//
// CLI Example:
//
//	salt '*' nfs3.add_export path='/srv/test' hosts='127.0.0.1' options=['rw']
func (m *module) addExport(_ context.Context, a addArgs) (any, error) {
	hosts, ok := a.Hosts.(string)
	if !ok {
		return nil, loader.TypeError("hosts argument must be a string")
	}
	options := data.TextsOf(a.Options)
	path := data.Str(a.Path)
	for _, word := range append([]string{path, hosts}, options...) {
		if strings.ContainsAny(word, " \t\r\n\x00()#\"") {
			return nil, loader.Execution("export %s: '%s' is not one word", path, word)
		}
	}
	text, err := m.read(a.Exports)
	if err != nil {
		return nil, err
	}
	text = with(text, path, hosts+"("+strings.Join(options, ",")+")")
	return data.NewMap("hosts", hosts, "options", data.Values(options)), m.write(a.Exports, text)
}

// with returns the text of a file in which a directory is exported to more hosts: in the line of the
// directory alone, or else in a new one.
func with(text, path, client string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if e, ok := parse(line); ok && len(e.paths) == 1 && e.paths[0] == path &&
			!strings.ContainsAny(line, "#\\") {
			lines[i] = strings.TrimRight(line, " \t\r\n") + " " + client + "\n"
			return strings.Join(lines, "")
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + path + " " + client + "\n"
}

type noArgs struct{}

// reloadExports makes the kernel export what the file says, by exportfs. It returns the output, and as
// result whether there was none on standard error.
//
// CLI Example:
//
//	salt '*' nfs3.reload_exports
func (m *module) reloadExports(ctx context.Context, _ noArgs) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"exportfs", "-r"}})
	return data.NewMap("stdout", ran.Stdout, "stderr", ran.Stderr, "result", ran.Stderr == ""), err
}
