// Package archive is Salt's module archive: it packs, unpacks and lists archives
// (salt/modules/archive.py).
//
// programs.go runs tar, gzip, zip, unzip and rar; list.go reads archives without unpacking them;
// zip.go and unzip.go implement the ZIP format. xz is needed for archives compressed by it, rar for
// RAR archives.
//
// Differences from Salt: A ZIP archive with a name that leads out of the destination, also through
// a symbolic link, is rejected before anything is unpacked. Files are put into place atomically.
// runas of zip and unzip works only on Linux.
package archive

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/unpack"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render/template"
)

// Plugin returns the module archive.
func Plugin() loader.Plugin { return loader.Plugin{Name: "archive", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("cmd_unzip", m.cmdUnzip).Secret("password"),
		loader.F("cmd_zip", m.cmdZip),
		loader.F("gunzip", m.gunzip),
		loader.F("gzip", m.gzip),
		loader.F("is_encrypted", m.isEncrypted),
		loader.F("list", m.list).Def("list_"),
		loader.F("rar", m.rar),
		loader.F("tar", m.tar),
		loader.F("unrar", m.unrar),
		loader.F("unzip", m.unzip).Secret("password"),
		loader.F("zip", m.zip).Def("zip_"),
	}}, nil
}

func (m *module) runner() unpack.Runner {
	if m.env.Run != nil {
		return m.env.Run
	}
	return process.Run
}

// needs returns the error for a missing program.
func needs(program string) error {
	if process.Find(program) == "" {
		return loader.NotFound("The '%s' binary was not found in $PATH.", program)
	}
	return nil
}

// lines runs a program and returns the lines of its output.
func (m *module) lines(ctx context.Context, run calls.Run) ([]any, error) {
	out, err := calls.RunOutput(ctx, m.env, run)
	if err != nil {
		return nil, err
	}
	return splitLines(out), nil
}

func splitLines(s string) []any {
	lines := []any{}
	for line := range strings.Lines(s) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}

// sources returns paths with their wildcards expanded.
func sources(v any) ([]string, error) {
	out := []string{}
	for _, source := range loader.SplitList(v) {
		if !strings.ContainsAny(source, "*?[") {
			out = append(out, source)
			continue
		}
		found, err := filepath.Glob(source)
		if err != nil {
			return nil, loader.Execution("expand %s: %w", source, err)
		}
		for _, path := range found {
			// a file name chosen by another user must not become an option
			if strings.HasPrefix(path, "-") {
				path = "./" + path
			}
			out = append(out, path)
		}
	}
	return out, nil
}

// trimmed shortens a list of files: to 100 if trim is true, or to the number given.
func trimmed(files []any, trim any) []any {
	count := 100
	switch n := trim.(type) {
	case bool:
		if !n {
			return files
		}
	case int64:
		count = int(n)
	default:
		var err error
		if count, err = strconv.Atoi(data.Str(trim)); err != nil {
			return files
		}
	}
	if count < 0 || len(files) <= count {
		return files
	}
	return append(files[:count:count], "List trimmed after "+strconv.Itoa(count)+" files.")
}

// rendered renders paths with the template engine.
func (m *module) rendered(ctx context.Context, engine any, paths ...*any) error {
	if !data.Truth(engine) {
		return nil
	}
	if !template.IsEngine(engine) {
		return loader.Execution("Attempted to render file paths with unavailable engine %s",
			data.Str(engine))
	}
	for _, p := range paths {
		v, err := m.env.Call(ctx, "file.apply_template_on_contents",
			[]any{*p, engine, data.NewMap(), data.NewMap(), "base"}, nil)
		if err != nil {
			return loader.Execution("Failed to render file path with error: %w", err)
		}
		*p = v
	}
	return nil
}
