// Package acl is Salt's state acl: entries of the access control lists of files
// (salt/states/linux_acl.py). It uses the module acl.
//
// Differences from Salt: the changes show the permissions that an entry had in the order rwx; a
// digit may stand for permissions; absent looks at the inherited entries only if acl_type names them,
// and list_absent without names removes nothing. After a change, each state looks again.
package acl

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state acl. It is available on hosts with the programs getfacl and setfacl.
func Plugin() loader.Plugin { return loader.Plugin{Name: "acl", File: "linux_acl", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("getfacl") == "" || process.Find("setfacl") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The linux_acl state cannot be loaded: " +
			"the getfacl or setfacl binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("list_absent", m.listAbsent),
		loader.F("list_present", m.listPresent),
		loader.F("present", m.present),
	}}, nil
}

// A kind is a kind of entries: user, group, mask or other, of a file or for what is created in it.
type kind struct {
	word      string // acl_type as given
	name      string
	inherited bool
}

func kindOf(word string) kind {
	for _, prefix := range []string{"default:", "d:"} {
		if name, ok := strings.CutPrefix(word, prefix); ok {
			return kind{word, name, true}
		}
	}
	return kind{word, word, false}
}

// A list is the entries of a kind: octal permissions by name, for each file.
type list struct {
	files []file
	owner string // name of the entry without one
	known bool   // the file has entries of the kind
}

type file struct {
	path    string
	entries *data.Map
}

// look reads the entries of a kind. Inherited entries are those of directories only.
func (m *module) look(ctx context.Context, path string, k kind, recurse bool) (list, error) {
	var now list
	all, err := change.Ask[*data.Map](ctx, m.env, "acl.getfacl", []any{path},
		data.NewMap("recursive", recurse))
	if err != nil {
		return now, err
	}
	itself, ok := all.Value(path).(*data.Map)
	if !ok {
		return now, change.Reason("the access control list of " + path + " cannot be read")
	}
	comment, _ := itself.Value("comment").(*data.Map)
	now.owner = comment.Text(k.name)
	if k.name == "user" {
		now.owner = comment.Text("owner")
	}
	for name, v := range all.All() {
		lists := v.(*data.Map)
		if k.inherited {
			if info, err := os.Stat(data.Str(name)); err != nil || !info.IsDir() {
				continue
			}
			lists, _ = lists.Value("defaults").(*data.Map)
		}
		f := file{data.Str(name), &data.Map{}}
		for _, entry := range data.ListOf(lists.Value(k.name)) {
			for name, rights := range entry.(*data.Map).All() {
				f.entries.Set(name, rights.(*data.Map).Value("octal"))
			}
		}
		now.files = append(now.files, f)
		if f.path == path {
			now.known = k.inherited || f.entries.Len() > 0
		}
	}
	return now, nil
}

// of returns the permissions of an entry of the first file; ok is false if there is none.
func (l list) of(name string) (octal int64, ok bool) {
	octal, ok = l.files[0].entries.Value(name).(int64)
	return octal, ok
}

// digit returns permissions such as r-x as a digit.
func digit(perms string) (octal int64, ok bool) {
	if len(perms) == 1 && perms[0] >= '0' && perms[0] <= '7' {
		return int64(perms[0] - '0'), true
	}
	for _, c := range perms {
		value, ok := map[rune]int64{'r': 4, 'w': 2, 'x': 1, '-': 0}[c]
		if !ok {
			return 0, false
		}
		octal |= value
	}
	return octal, true
}

// letters returns a digit as permissions such as r-x.
func letters(octal int64) string {
	text := []byte("rwx")
	for i := range text {
		if octal&(4>>i) == 0 {
			text[i] = '-'
		}
	}
	return string(text)
}

const (
	same   = "Permissions are in the desired state"
	noType = "ACL Type does not exist"
)

// there reports whether a path exists.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// modify sets entries of a file, after wiping it if that is wanted. A failure is a reason.
func (m *module) modify(ctx context.Context, path string, k kind, names []string, perms string, recurse,
	force bool, title string) error {
	kwargs := data.NewMap("recursive", recurse, "raise_err", true)
	run := func(fun string, args ...any) error {
		_, err := m.env.Call(ctx, "acl."+fun, args, kwargs)
		if loader.KindOf(err) == loader.KindExecution {
			return change.Reason("Error updating permissions for " + title + ": " + err.Error())
		}
		return change.Raise(err)
	}
	if force {
		if err := run("wipefacls", path); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := run("modfacl", k.word, name, perms, path); err != nil {
			return err
		}
	}
	return nil
}

type presentArgs struct {
	Name    string
	ACLType string `name:"acl_type"`
	ACLName any    `name:"acl_name" default:"''"`
	Perms   any    `default:"''"`
	Recurse any    `default:"False"`
	Force   any    `default:"False"`
}

// present keeps an entry in the access control list of a file.
//
// acl_type
//
//	user, group, mask or other; default:user or d:user for what new files in the directory inherit.
//
// acl_name
//
//	The user or group. Default: the file's own.
//
// perms
//
//	The permissions, such as rwx.
//
// recurse
//
//	True: also in the files of a directory.
//
// force
//
//	True: remove all other entries before a change.
//
//	/srv/data:
//	  acl.present:
//	    - acl_type: user
//	    - acl_name: damian
//	    - perms: rwx
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	k, name, perms := kindOf(a.ACLType), data.Str(a.ACLName), data.Str(a.Perms)
	octal, ok := digit(perms)
	if !ok {
		return change.Refuse(a.Name, "perms must consist of r, w, x and -, not "+data.Repr(perms))
	}
	if !there(a.Name) {
		return change.Refuse(a.Name, a.Name+" does not exist")
	}
	search := func(now list) string {
		if name == "" {
			return now.owner
		}
		return name
	}
	entry := func(perms string) *data.Map {
		return data.NewMap("acl_name", name, "acl_type", a.ACLType, "perms", perms)
	}
	recurse := data.Truth(a.Recurse)
	return change.Thing[list]{
		Name: a.Name,
		Look: func(ctx context.Context) (list, error) {
			now, err := m.look(ctx, a.Name, k, recurse)
			if err == nil && !now.known {
				err = change.Reason(noType)
			}
			return now, err
		},
		Wants: func(now list) *data.Map {
			had, ok := now.of(search(now))
			switch {
			case !ok:
				return data.NewMap("new", entry(perms))
			case slices.ContainsFunc(now.files,
				func(f file) bool { return f.entries.Value(search(now)) != octal }):
				return data.NewMap("new", entry(perms), "old", entry(letters(had)))
			}
			return nil
		},
		Apply: func(ctx context.Context, _ list) error {
			return m.modify(ctx, a.Name, k, []string{name}, perms, recurse, data.Truth(a.Force), name)
		},
		Texts: change.Texts{Same: same},
		Say: func(o change.Outcome[list]) any {
			had, ok := int64(0), false
			if len(o.Before.files) > 0 {
				had, ok = o.Before.of(search(o.Before))
			}
			switch {
			case o.Stage == change.StageWould && ok:
				return "Updated permissions will be applied for " + name + ": " + letters(had) + " -> " +
					perms
			case o.Stage == change.StageWould:
				return "New permissions will be applied for " + name + ": " + perms
			case o.Stage == change.StageDone && ok:
				return "Updated permissions for " + name
			case o.Stage == change.StageDone:
				return "Applied new permissions for " + name
			}
			return nil
		},
	}.Ensure(ctx)
}

type absentArgs struct {
	Name    string
	ACLType string `name:"acl_type"`
	ACLName any    `name:"acl_name" default:"''"`
	Perms   any    `default:"''"`
	Recurse any    `default:"False"`
}

// absent keeps an entry out of the access control list of a file. perms has no effect.
//
// acl_type
//
//	user or group; default:user or d:user for what new files in the directory inherit.
//
// acl_name
//
//	The user or group.
//
// recurse
//
//	True: also out of those of the files in a directory.
//
//	/srv/data:
//	  acl.absent:
//	    - acl_type: user
//	    - acl_name: damian
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	return m.without(ctx, a.Name, a.ACLType, []string{data.Str(a.ACLName)}, data.Truth(a.Recurse))
}

type listAbsentArgs struct {
	Name     string
	ACLType  string `name:"acl_type"`
	ACLNames any    `name:"acl_names" default:"None"`
	Recurse  any    `default:"False"`
}

// listAbsent keeps the entries of several users or groups out of the access control list of a file.
//
// recurse
//
//	True: also out of those of the files in a directory.
//
//	/srv/data:
//	  acl.list_absent:
//	    - acl_type: user
//	    - acl_names: [damian, homer]
func (m *module) listAbsent(ctx context.Context, a listAbsentArgs) (change.Result, error) {
	return m.without(ctx, a.Name, a.ACLType, data.TextsOf(a.ACLNames), data.Truth(a.Recurse))
}

// without removes entries. Salt reports no changes for that.
func (m *module) without(ctx context.Context, path, word string, names []string, recurse bool) (change.Result,
	error) {
	if !there(path) {
		return change.Refuse(path, path+" does not exist")
	}
	k := kindOf(word)
	left := func(now list) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			if name == "" {
				name = now.owner
			}
			return !slices.ContainsFunc(now.files, func(f file) bool { return f.entries.Has(name) })
		})
	}
	return change.Thing[list]{
		Name: path,
		Look: func(ctx context.Context) (list, error) {
			now, err := m.look(ctx, path, k, recurse)
			if err == nil && !now.known {
				err = change.Reason(noType)
			}
			return now, err
		},
		Wants: func(now list) *data.Map {
			return change.When(len(left(now)) > 0, data.NewMap("removed", data.Values(left(now))))
		},
		Apply: func(ctx context.Context, now list) error {
			for _, name := range left(now) {
				_, err := m.env.Call(ctx, "acl.delfacl", []any{word, name, path},
					data.NewMap("recursive", recurse, "raise_err", true))
				if err = change.Except(err, loader.KindExecution); err != nil {
					return err
				}
			}
			return nil
		},
		Changed: func(list, list) *data.Map { return nil },
		Silent:  true,
		Texts:   change.Texts{Same: same, Would: "Removing permissions", Done: "Removing permissions"},
	}.Ensure(ctx)
}

type listPresentArgs struct {
	Name     string
	ACLType  string `name:"acl_type"`
	ACLNames any    `name:"acl_names" default:"None"`
	Perms    any    `default:"''"`
	Recurse  any    `default:"False"`
	Force    any    `default:"False"`
}

// listPresent keeps entries of several users or groups, all with the same permissions, in the access
// control list of a file.
//
// perms
//
//	The permissions, such as rwx.
//
// recurse
//
//	True: a change also reaches the files of a directory. Only the directory itself is checked.
//
// force
//
//	True: remove all other entries before a change.
//
//	/srv/data:
//	  acl.list_present:
//	    - acl_type: user
//	    - acl_names: [damian, homer]
//	    - perms: rwx
func (m *module) listPresent(ctx context.Context, a listPresentArgs) (change.Result, error) {
	k, names, perms := kindOf(a.ACLType), data.TextsOf(a.ACLNames), data.Str(a.Perms)
	octal, ok := digit(perms)
	if !ok {
		return change.Refuse(a.Name, "perms must consist of r, w, x and -, not "+data.Repr(perms))
	}
	if !there(a.Name) {
		return change.Refuse(a.Name, a.Name+" does not exist")
	}
	title, all := data.Repr(data.Values(names)), strings.Join(names, ", ")
	// first returns the permissions of the first name that does not have them, and whether it has an
	// entry; needed is false if all have them.
	first := func(now list) (had int64, ok, needed bool) {
		for _, name := range names {
			if had, ok = now.of(name); !ok || had != octal {
				return had, ok, true
			}
		}
		return 0, false, false
	}
	return change.Thing[list]{
		Name: a.Name,
		Look: func(ctx context.Context) (list, error) {
			now, err := m.look(ctx, a.Name, k, false)
			if err == nil && !now.known {
				err = change.Reason(noType)
			}
			return now, err
		},
		Wants: func(now list) *data.Map {
			had, ok, needed := first(now)
			switch {
			case !needed:
				return nil
			case !ok:
				return data.NewMap("new", data.NewMap("acl_name", all, "acl_type", a.ACLType, "perms", perms))
			}
			return data.NewMap("new", data.NewMap("acl_name", all, "acl_type", a.ACLType, "perms", octal),
				"old", data.NewMap("acl_name", all, "acl_type", a.ACLType, "perms", data.Str(had)))
		},
		Apply: func(ctx context.Context, _ list) error {
			return m.modify(ctx, a.Name, k, names, perms, data.Truth(a.Recurse), data.Truth(a.Force), title)
		},
		Texts: change.Texts{Same: same, Done: "Applied new permissions for " + all},
		Say: func(o change.Outcome[list]) any {
			if len(o.Before.files) == 0 {
				return nil
			}
			had, ok, _ := first(o.Before)
			switch {
			case o.Stage == change.StageWould && ok:
				return "Updated permissions will be applied for " + title + ": " + data.Str(had) + " -> " +
					perms
			case o.Stage == change.StageWould:
				return "New permissions will be applied for " + title + ": " + perms
			case o.Stage == change.StageDone && ok:
				return "Updated permissions for " + title
			}
			return nil
		},
	}.Ensure(ctx)
}
