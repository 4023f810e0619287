// Package acl is Salt's module acl: access control lists of files, by the programs getfacl and setfacl
// (salt/modules/linux_acl.py).
//
// Differences from Salt: each argument reaches the program as it is, whatever quotes it has. Paths
// that begin with a dash, words with a line end, and names that are more entries are refused. Paths with
// blanks have their own names in the result of getfacl, not getfacl's escaped ones.
package acl

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module acl. It is available on hosts with the program getfacl.
func Plugin() loader.Plugin { return loader.Plugin{Name: "acl", File: "linux_acl", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("getfacl") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The linux_acl execution module cannot be loaded: " +
			"the getfacl binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("delfacl", m.delfacl),
		loader.F("getfacl", m.getfacl),
		loader.F("modfacl", m.modfacl),
		loader.F("version", m.version),
		loader.F("wipefacls", m.wipefacls),
	}}, nil
}

type noArgs struct{}

// version returns the version of getfacl.
//
// CLI Example:
//
//	salt '*' acl.version
func (m *module) version(ctx context.Context, _ noArgs) (any, error) {
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"getfacl", "--version"}})
	if err != nil {
		return nil, err
	}
	words := strings.Fields(out)
	if len(words) < 2 {
		return nil, loader.Execution("getfacl does not report its version: %q", out)
	}
	return words[1], nil
}

type filesArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// paths returns the files of a call as operands.
func paths(args []any) ([]string, error) {
	if len(args) == 0 {
		return nil, loader.Execution("You need to specify at least one file or directory to work with!")
	}
	files := data.Texts(args)
	if err := process.PlainOperands(files...); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return files, nil
}

// recursively adds the option for a whole tree if it is asked for.
func recursively(kwargs *data.Map, argv ...string) []string {
	if data.Truth(kwargs.Value("recursive")) {
		argv = append(argv, "-R")
	}
	return argv
}

// getfacl returns the owner, the group and the access control list of each file, below its path.
//
// recursive
//
//	True: also of the files in directories.
//
// CLI Example:
//
//	salt '*' acl.getfacl /tmp/house/kitchen
//	salt '*' acl.getfacl /tmp/house/kitchen /tmp/house/livingroom recursive=True
func (m *module) getfacl(ctx context.Context, a filesArgs) (any, error) {
	files, err := paths(a.Args)
	if err != nil {
		return nil, err
	}
	argv := append(recursively(a.Kwargs, "getfacl", "--absolute-names"), files...)
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	if err != nil {
		return nil, err
	}
	// A file that does not exist is left out. Any other failure says nothing of a file's list.
	for line := range strings.Lines(ran.Stderr) {
		if ran.Retcode != 0 && !strings.Contains(line, "No such file or directory") {
			return nil, loader.Execution("%s", strings.TrimSpace(ran.Stderr))
		}
	}
	if ran.Retcode != 0 && ran.Stderr == "" {
		return nil, loader.Execution("getfacl: code %d", ran.Retcode)
	}
	return parse(ran.Stdout), nil
}

// wipefacls removes the access control lists of files.
//
// recursive
//
//	True: also those of the files in directories.
//
// CLI Example:
//
//	salt '*' acl.wipefacls /tmp/house/kitchen
//	salt '*' acl.wipefacls /tmp/house/kitchen /tmp/house/livingroom recursive=True
func (m *module) wipefacls(ctx context.Context, a filesArgs) (any, error) {
	return m.change(ctx, a.Kwargs, a.Args, recursively(a.Kwargs, "setfacl", "-b"))
}

type modArgs struct {
	ACLType string    `name:"acl_type"`
	ACLName any       `name:"acl_name" default:"''"`
	Perms   any       `default:"''"`
	Args    []any     `args:"args"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// modfacl adds an entry to the access control lists of files, or changes it.
//
// acl_type
//
//	user, group or mask, or the first letter; default:user and d:u for what new files inherit.
//
// recursive
//
//	True: also those of the files in directories.
//
// raise_err
//
//	True: a failure of setfacl is an error.
//
// CLI Example:
//
//	salt '*' acl.modfacl user myuser rwx /tmp/house/kitchen
//	salt '*' acl.modfacl d:u myuser 7 /tmp/house/kitchen
//	salt '*' acl.modfacl user myuser rwx /tmp/house/kitchen recursive=True raise_err=True
func (m *module) modfacl(ctx context.Context, a modArgs) (any, error) {
	if err := words(a.ACLName, a.Perms); err != nil {
		return nil, err
	}
	entry := prefix(a.ACLType) + ":" + data.Str(a.ACLName) + ":" + data.Str(a.Perms)
	return m.change(ctx, a.Kwargs, a.Args, append(recursively(a.Kwargs, "setfacl"), "-m", entry))
}

type delArgs struct {
	ACLType string    `name:"acl_type"`
	ACLName any       `name:"acl_name" default:"''"`
	Args    []any     `args:"args"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// delfacl removes an entry from the access control lists of files.
//
// recursive
//
//	True: also from those of the files in directories.
//
// CLI Example:
//
//	salt '*' acl.delfacl user myuser /tmp/house/kitchen
//	salt '*' acl.delfacl default:group mygroup /tmp/house/kitchen
//	salt '*' acl.delfacl user myuser /tmp/house/kitchen recursive=True
func (m *module) delfacl(ctx context.Context, a delArgs) (any, error) {
	if err := words(a.ACLName); err != nil {
		return nil, err
	}
	entry := prefix(a.ACLType) + ":" + data.Str(a.ACLName)
	return m.change(ctx, a.Kwargs, a.Args, append(recursively(a.Kwargs, "setfacl"), "-x", entry))
}

// words refuses names and permissions that setfacl would read as more entries.
func words(values ...any) error {
	for _, v := range values {
		if text := data.Str(v); strings.ContainsAny(text, ":,") {
			return loader.Execution("'%s' is no name and no permissions", text)
		}
	}
	return nil
}

// change runs setfacl on files. Only with raise_err its failure is an error.
func (m *module) change(ctx context.Context, kwargs *data.Map, args []any, argv []string) (any, error) {
	files, err := paths(args)
	if err != nil {
		return nil, err
	}
	if entry := argv[len(argv)-1]; strings.ContainsAny(entry, "\n\r\x00") {
		return nil, loader.Execution("%q has more than one line", entry)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append(argv, files...), MergeStderr: true})
	if err == nil && ran.Retcode != 0 && data.Truth(kwargs.Value("raise_err")) {
		err = loader.Execution("%s", ran.Stdout)
	}
	return err == nil, err
}

// prefix returns the kind of an entry in setfacl's form.
func prefix(kind string) string {
	inherited := ""
	if strings.HasPrefix(kind, "d") {
		inherited = "d:"
		kind = strings.ReplaceAll(strings.ReplaceAll(kind, "default:", ""), "d:", "")
	}
	switch kind {
	case "user", "u", "group", "g", "mask", "m":
		return inherited + kind[:1]
	}
	return inherited
}

// parse returns the lists that getfacl prints.
func parse(text string) *data.Map {
	all := &data.Map{}
	var file, comment *data.Map
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if remark, ok := strings.CutPrefix(line, "#"); ok {
			key, value, ok := strings.Cut(strings.TrimPrefix(remark, " "), ": ")
			switch {
			case !ok:
				continue
			case key == "file":
				comment = &data.Map{}
				file = data.NewMap("comment", comment, "user", []any{}, "group", []any{})
				value = unescaped(value)
				all.Set(value, file)
			}
			if comment != nil {
				comment.Set(key, value)
				if key == "flags" {
					flag(file, value)
				}
			}
			continue
		}
		if file != nil && strings.Count(line, ":") >= 2 {
			enter(file, line)
		}
	}
	return all
}

// flag notes the special bits of a file, such as s-t.
func flag(file *data.Map, bits string) {
	for i, name := range []string{"suid", "sgid", "sticky"} {
		if i < len(bits) && bits[i] == "sst"[i] {
			file.Set(name, true)
		}
	}
}

// enter adds an entry such as default:user:bob:r-x to the lists of a file.
func enter(file *data.Map, line string) {
	parts := strings.Split(line, ":")
	list := file
	if parts[0] == "default" {
		parts = parts[1:]
		if list, _ = file.Value("defaults").(*data.Map); list == nil {
			list = &data.Map{}
			file.Set("defaults", list)
		}
	}
	kind, name, perms := parts[0], parts[1], parts[len(parts)-1]
	entry := rights(perms)
	switch kind {
	case "user", "group":
		if name == "" {
			owner := map[string]string{"user": "owner", "group": "group"}[kind]
			name = file.Value("comment").(*data.Map).Text(owner)
		}
		had, _ := list.Value(kind).([]any)
		list.Set(kind, append(had, data.NewMap(name, entry)))
	case "other", "mask":
		list.Set(kind, []any{data.NewMap("", entry)})
	}
}

// rights returns permissions such as r-x by their names, and as a digit.
func rights(perms string) *data.Map {
	octal, named := int64(0), &data.Map{}
	for i, name := range []string{"read", "write", "execute"} {
		given := strings.ContainsRune(perms, rune("rwx"[i]))
		named.Set(name, given)
		if given {
			octal += 4 >> i
		}
	}
	return data.NewMap("permissions", named, "octal", octal)
}

// unescaped replaces the octal numbers in a path, with which getfacl writes blanks and backslashes.
func unescaped(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if code, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
