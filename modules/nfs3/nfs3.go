// Package nfs3 is Salt's module nfs3: the directories that this host exports over NFS
// (salt/modules/nfs3.py).
//
// Differences from Salt: lines that end with a backslash go on; a change keeps comments and the lines of
// other exports as they are; hosts and options must be words; a host without options has none; a text of
// options has commas between them.
package nfs3

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/nfsexports"
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
	if err := atomicfile.Write(path, []byte(text), atomicfile.Options{Follow: true, Keep: true}); err != nil {
		return loader.OSError(err)
	}
	return nil
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
	return nfsexports.Parse(text), err
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
	if !nfsexports.Parse(text).Has(a.Path) {
		return nil, loader.Exception("KeyError", "%s", data.Repr(a.Path))
	}
	text = nfsexports.Without(text, data.Str(a.Path))
	return nfsexports.Parse(text), m.write(a.Exports, text)
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
	options, path := nfsexports.Options(a.Options), data.Str(a.Path)
	if err := nfsexports.Check(path, hosts, options); err != nil {
		return nil, loader.Execution("%w", err)
	}
	text, err := m.read(a.Exports)
	if err != nil {
		return nil, err
	}
	list := data.Values(options)
	if list == nil {
		list = []any{}
	}
	return data.NewMap("hosts", hosts, "options", list),
		m.write(a.Exports, nfsexports.With(text, path, hosts, options))
}

type noArgs struct{}

// reloadExports makes the kernel export what the file says, by exportfs. It returns the output, and as
// result whether exportfs succeeded and there was none on standard error.
//
// CLI Example:
//
//	salt '*' nfs3.reload_exports
func (m *module) reloadExports(ctx context.Context, _ noArgs) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"exportfs", "-r"}})
	return data.NewMap("stdout", ran.Stdout, "stderr", ran.Stderr, "result",
		ran.Stderr == "" && ran.Retcode == 0), err
}
