// Package file is Salt's state file: files, directories and links, and text in them (salt/states/file.py).
//
// managed.go is about files whose content is given, directory.go and recurse.go about directories, link.go about symbolic links, place.go
// about files that are copied, moved, touched or removed, lines.go and edit.go about text in files, serialize.go about data in them,
// hardlink.go and nodes.go about other kinds of files, tidy.go and retention.go about what is to go, cached.go about the cache, patch.go
// and decode.go about what becomes of other files. The module file does the work and the comparing, for test mode, too.
//
// What differs: texts that accumulate are kept with the job and not in a file of the cache; directories are walked in the order of names;
// a text that a template becomes is never cached; max_depth of file.directory counts for files as for directories; children_only tells
// nothing of the directory itself; keep_symlinks never writes through a link; test mode of file.patch, file.cached and file.not_cached
// writes nothing; preserve of file.copy keeps the owners of files as of directories. A matches or exclude of file.tidied that is no list is
// one expression. What the module file says of itself holds here, too.
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
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state file.
func Plugin() loader.Plugin { return loader.Plugin{Name: "file", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("accumulated", m.accumulated),
		loader.F("append", m.append),
		loader.F("blockreplace", m.blockreplace),
		loader.F("cached", m.cached),
		loader.F("comment", m.comment),
		loader.F("copy", m.copy).Def("copy_"),
		loader.F("decode", m.decode),
		loader.F("directory", m.directory),
		loader.F("exists", m.exists),
		loader.F("hardlink", m.hardlink),
		loader.F("keyvalue", m.keyvalue),
		loader.F("line", m.line),
		loader.F("managed", m.managed),
		loader.F("missing", m.missing),
		loader.F("mknod", m.mknod),
		loader.F("mod_beacon", m.modBeacon),
		loader.F("mod_run_check_cmd", m.modRunCheckCmd),
		loader.F("not_cached", m.notCached),
		loader.F("patch", m.patch),
		loader.F("prepend", m.prepend),
		loader.F("pruned", m.pruned),
		loader.F("recurse", m.recurse),
		loader.F("rename", m.rename),
		loader.F("replace", m.replace),
		loader.F("retention_schedule", m.retentionSchedule),
		loader.F("serialize", m.serialize),
		loader.F("shortcut", m.shortcut),
		loader.F("symlink", m.symlink),
		loader.F("tidied", m.tidied),
		loader.F("touch", m.touch),
		loader.F("uncomment", m.uncomment),
	}}, nil
}

// call calls an execution function.
func (m *module) call(ctx context.Context, fun string, kwargs *data.Map, args ...any) (any, error) {
	return m.env.Call(ctx, fun, args, kwargs)
}

// home returns a path with the home directory that ~ or ~USER at its beginning stands for.
func home(path string) string { return accounts.Expand(path) }

// dirname returns what stands before the last slash.
func dirname(path string) string {
	head := path[:strings.LastIndexByte(path, '/')+1]
	if short := strings.TrimRight(head, "/"); short != "" {
		return short
	}
	return head
}

// checkUser says whether a user and a group are not there; not in test mode, as they may be made before.
func (m *module) checkUser(ctx context.Context, user, group any) (string, error) {
	complaint := ""
	for _, who := range []struct {
		v              any
		fun, word, gap string
	}{{user, "file.user_to_uid", "User", " "}, {group, "file.group_to_gid", "Group", ""}} {
		if !data.Truth(who.v) {
			continue
		}
		id, err := m.call(ctx, who.fun, nil, who.v)
		if err != nil {
			return "", err
		}
		if id == "" {
			complaint += who.word + " " + data.Str(who.v) + " is not available" + who.gap
		}
	}
	if complaint != "" && change.Test(ctx) {
		m.env.Log.Warn(complaint)
		return "", nil
	}
	return complaint, nil
}

// ownerOf returns the user, by the argument user or the wrong one owner.
func (m *module) ownerOf(user any, kwargs *data.Map) any {
	if owner, ok := kwargs.Get("owner"); ok && !data.Truth(user) {
		m.env.Log.Warn(`Use of argument owner found, "owner" is invalid, please use "user"`)
		return owner
	}
	return user
}

// checkFile says what is wrong with a file that is to be edited.
func checkFile(name string) string {
	switch {
	case !filepath.IsAbs(name):
		return notAbsolute(name)
	case !paths.Exists(name):
		return name + ": file not found"
	}
	return ""
}

func notAbsolute(name string) string { return "Specified file " + name + " is not an absolute path" }

// normalMode returns a mode as text of four octal digits at least, or nil (salt/utils/files.py, normalize_mode).
func normalMode(v any) any {
	if v == nil {
		return nil
	}
	mode := strings.TrimLeft(strings.Trim(strings.Trim(strings.ReplaceAll(data.Str(v), "0o", "0"), `"`), "'"), "0")
	return strings.Repeat("0", max(0, 4-len(mode))) + mode
}

// texts returns a value of an SLS as a list of texts. A dictionary has the text of the OrderedDict that YAML is read into.
func texts(v any) []string { return textsBy(state.Text, v) }

// textsBy returns a value as a list of texts: its items are those of a list, or the value itself.
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

// readLines returns the lines of a file with their ends.
func readLines(path string) ([]string, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.OSError(err)
	}
	text, err := loader.Text(body)
	return difflib.Lines(text), err
}

// diffOf returns the changes of a file from some lines to others.
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

// binary reports whether a file holds what is no text, by its beginning.
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
