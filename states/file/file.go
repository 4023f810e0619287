// Package file is Salt's state file: files, directories, links, and the text in files
// (salt/states/file.py).
//
// managed.go manages files with a given content, directory.go and recurse.go directories, link.go
// and hardlink.go links, place.go copies, moves and touches files, absent.go checks and removes
// files, lines.go and edit.go edit text, serialize.go and decode.go write data, nodes.go handles
// other kinds of files, tidy.go and retention.go remove old files, cached.go manages the cache,
// patch.go applies patches. owner.go and templates.go are shared by all of them. The module file
// does the work and the comparisons, also for test mode.
//
// Differences from Salt: accumulated texts are kept with the job and not in a file of the cache.
// Directories are walked in the order of names. A rendered text is never cached. max_depth of
// file.directory applies to files as well as directories. With children_only, nothing is reported
// for the directory itself. keep_symlinks never writes through a link. Test mode of file.patch,
// file.cached and file.not_cached writes nothing. preserve of file.copy keeps the owners of files
// as well as directories. In file.tidied, a matches or exclude that is not a list is a single
// expression. The differences of the module file apply here as well.
package file

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

// Plugin returns the state file.
func Plugin() loader.Plugin { return loader.Plugin{Name: "file", New: newModule} }

// A module is shared by all file states.
type module struct{ env *loader.Env }

// The states, grouped by purpose.
type (
	contents    struct{ *module } // files with a given content
	directories struct{ *module } // and their contents
	links       struct{ *module } // symbolic and hard links
	places      struct{ *module } // copying, moving, existence
	edits       struct{ *module } // text in files
	patches     struct{ *module } // of files
	backlog     struct{ *module } // removal of old files
	caches      struct{ *module } // files in the minion's cache
)

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", places{m}.absent),
		loader.F("accumulated", m.accumulated),
		loader.F("append", edits{m}.append),
		loader.F("blockreplace", edits{m}.blockreplace),
		loader.F("cached", caches{m}.cached),
		loader.F("comment", edits{m}.comment),
		loader.F("copy", places{m}.copy).Def("copy_"),
		loader.F("decode", contents{m}.decode),
		loader.F("directory", directories{m}.directory),
		loader.F("exists", places{m}.exists),
		loader.F("hardlink", links{m}.hardlink),
		loader.F("keyvalue", edits{m}.keyvalue),
		loader.F("line", edits{m}.line),
		loader.F("managed", contents{m}.managed),
		loader.F("missing", places{m}.missing),
		loader.F("mknod", m.mknod),
		loader.F("mod_beacon", m.modBeacon),
		loader.F("mod_run_check_cmd", contents{m}.modRunCheckCmd),
		loader.F("not_cached", caches{m}.notCached),
		loader.F("patch", patches{m}.patch),
		loader.F("prepend", edits{m}.prepend),
		loader.F("pruned", backlog{m}.pruned),
		loader.F("recurse", directories{m}.recurse),
		loader.F("rename", places{m}.rename),
		loader.F("replace", edits{m}.replace),
		loader.F("retention_schedule", backlog{m}.retentionSchedule),
		loader.F("serialize", contents{m}.serialize),
		loader.F("shortcut", m.shortcut),
		loader.F("symlink", links{m}.symlink),
		loader.F("tidied", backlog{m}.tidied),
		loader.F("touch", places{m}.touch),
		loader.F("uncomment", edits{m}.uncomment),
	}}, nil
}

// call calls an execution module function.
func (m *module) call(ctx context.Context, fun string, kwargs *data.Map, args ...any) (any, error) {
	return m.env.Call(ctx, fun, args, kwargs)
}

// home expands ~ or ~USER at the beginning of a path.
func home(path string) string { return accounts.Expand(path) }

// separators separate the names in a path.
const separators = string(filepath.Separator) + "/"

// withoutSlash returns a path without the separator at its end, unless it is the root of a drive.
func withoutSlash(path string) string {
	if filepath.Dir(path) == path || path == "" || !os.IsPathSeparator(path[len(path)-1]) {
		return path
	}
	return path[:len(path)-1]
}

// dirname returns the part of a path before the last separator.
func dirname(path string) string {
	drive := filepath.VolumeName(path)
	i := len(path)
	for i > len(drive) && !os.IsPathSeparator(path[i-1]) {
		i--
	}
	head := path[:i]
	if short := strings.TrimRight(head[len(drive):], separators); short != "" {
		return drive + short
	}
	return head
}

// checkFile returns a message if a file cannot be edited.
func checkFile(name string) string {
	switch {
	case !filepath.IsAbs(name):
		return notAbsolute(name)
	case !paths.Exists(name):
		return name + ": file not found"
	}
	return ""
}

func notAbsolute(name string) string {
	return "Specified file " + name +
		" is not an absolute path"
}

// normalMode returns a mode as a string of at least four octal digits, or nil (salt/utils/files.py,
// normalize_mode).
func normalMode(v any) any {
	if v == nil {
		return nil
	}
	mode := strings.TrimLeft(strings.Trim(strings.Trim(strings.ReplaceAll(data.Str(v), "0o", "0"),
		`"`), "'"), "0")
	return strings.Repeat("0", max(0, 4-len(mode))) + mode
}

// texts returns a value of an SLS as a list of strings. A dictionary is formatted as an
// OrderedDict, the type that Salt loads YAML into.
func texts(v any) []string { return textsBy(state.Text, v) }

// textsBy formats the items of a list, or a single value, as a list of strings.
func textsBy(text func(any) string, v any) []string {
	list, ok := v.([]any)
	if tuple, isTuple := v.(data.Tuple); isTuple {
		list, ok = tuple, true
	}
	if !ok {
		return []string{text(v)}
	}
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = text(item)
	}
	return out
}

// readLines returns the lines of a file with their line endings.
func readLines(path string) ([]string, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.OSError(err)
	}
	text, err := loader.Text(body)
	return difflib.Lines(text), err
}

// diffOf returns the changes of a file whose lines changed from before to after.
func (m *module) diffOf(path string, before, after []string, join string) *data.Map {
	changes := data.NewMap()
	if strings.Join(before, "\x00") == strings.Join(after, "\x00") && len(before) == len(after) {
		return changes
	}
	if binary(path) {
		changes.Set("diff", "Replace binary file")
		return changes
	}
	changes.Set("diff", strings.Join(difflib.Unified(before, after, "", "", "\n"), join))
	return changes
}

// binary reports whether a file looks binary, judging by its beginning.
func binary(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	block := make([]byte, 512)
	n, _ := f.Read(block)
	return strings.ContainsRune(string(block[:n]), 0)
}

// ordered returns a result with its keys in the order in which Salt's state sets them.
func ordered(ret *data.Map, keys ...any) *data.Map {
	out := data.NewMap()
	for _, key := range append(keys, ret.Keys()...) {
		if v, ok := ret.Get(key); ok {
			out.Set(key, v)
		}
	}
	return out
}
