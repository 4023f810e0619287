package file

import (
	"context"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type touchArgs struct {
	Name     string
	Atime    any  `default:"None"`
	Mtime    any  `default:"None"`
	Makedirs bool `default:"False"`
}

// touch creates an empty file, or sets the times of an existing one.
//
// atime, mtime
//
//	The times in seconds since 1970. Default: now.
//
//	/var/log/httpd/logrotate.empty:
//	  file.touch: []
func (m places) touch(ctx context.Context, a touchArgs) (any, error) {
	ret, err := m.touched(ctx, a)
	if err != nil {
		return nil, err
	}
	return ret, nil
}

func (m places) touched(ctx context.Context, a touchArgs) (*data.Map, error) {
	name := home(a.Name)
	switch {
	case name == "":
		return change.Failed(name, "Must provide name to file.touch"), nil
	case !filepath.IsAbs(name):
		return change.Failed(name, notAbsolute(name)), nil
	case change.Test(ctx):
		return m.touchForecast(ctx, name, a)
	}
	if a.Makedirs {
		if err := calls.MakeDirs(ctx, m.env, name, calls.Owned{}); err != nil {
			return nil, err
		}
	}
	if !paths.IsDir(dirname(name)) {
		return change.Failed(name, "Directory not present to touch file "+name), nil
	}
	there := paths.Exists(name)
	v, err := m.call(ctx, "file.touch", nil, name, a.Atime, a.Mtime)
	switch {
	case err != nil:
		return nil, err
	case !data.Truth(v):
		return change.Failed(name, ""), nil
	case !there:
		return change.New(name, v, data.NewMap("new", name), "Created empty file "+name), nil
	}
	kind := "file"
	if paths.IsDir(name) {
		kind = "directory"
	}
	return change.New(name, v, data.NewMap("touched", name), "Updated times on "+kind+" "+name), nil
}

func (m places) touchForecast(ctx context.Context, name string, a touchArgs) (*data.Map, error) {
	if !paths.Exists(name) {
		return change.Would(name, data.NewMap("new", name), "File "+name+
			" is set to be created"), nil
	}
	st, err := calls.Stats(ctx, m.env, name)
	if err != nil {
		return nil, err
	}
	if a.Atime != nil && data.Str(a.Atime) != data.Str(st.Value("atime")) || a.Mtime != nil &&
		data.Str(a.Mtime) != data.Str(st.Value("mtime")) {
		return change.Would(name, data.NewMap("touched", name),
			"Times set to be updated on file "+name), nil
	}
	return change.New(name, true, data.NewMap("new", name), "File "+name+
		" exists and has the correct times"), nil
}

type copyArgs struct {
	Name     string
	Source   string
	Force    bool      `default:"False"`
	Makedirs bool      `default:"False"`
	Preserve bool      `default:"False"`
	User     any       `default:"None"`
	Group    any       `default:"None"`
	Mode     any       `default:"None"`
	DirMode  any       `default:"None"`
	Subdir   bool      `default:"False"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// copy copies a file or directory of the minion, unless the name exists.
//
// force
//
//	Replace an existing file.
//
// preserve, user, group, mode
//
//	Keep owner and mode of the source; otherwise the owner and mode of the copy.
//
// makedirs, dir_mode, subdir
//
//	Create missing parent directories with this mode; copy into a directory of that name.
//
//	/etc/example.conf:
//	  file.copy:
//	    - source: /tmp/example.conf
func (m places) copy(ctx context.Context, a copyArgs) (any, error) {
	ret, err := m.copyTo(ctx, a)
	if err != nil {
		return nil, err
	}
	return ordered(ret, "name", "changes", "comment", "result"), nil
}

func (m places) copyTo(ctx context.Context, a copyArgs) (*data.Map, error) {
	a.Name, a.Source = home(a.Name), home(a.Source)
	asked := a.Name
	switch {
	case a.Name == "":
		return change.Failed(asked, "Must provide name to file.copy"), nil
	case !filepath.IsAbs(a.Name):
		return change.Failed(asked, notAbsolute(a.Name)), nil
	case !paths.Exists(a.Source):
		return change.Failed(asked, `Source file "`+a.Source+`" is not present`), nil
	}
	complaint, err := m.copyOwners(ctx, &a)
	if err != nil {
		return nil, err
	}
	if complaint != "" {
		return change.Failed(asked, complaint), nil
	}
	if paths.IsDir(a.Name) && a.Subdir {
		a.Name = filepath.Join(a.Name, filepath.Base(a.Source))
	}
	comment := `Copied "` + a.Source + `" to "` + a.Name + `"`
	if asked != a.Name {
		comment = `Copied "` + a.Source + `" to "` + asked + `"`
	}
	if paths.LinkExists(a.Name) {
		if !a.Force {
			return change.Unchanged(asked, `The target file "`+a.Name+
				`" exists and will not be overwritten`), nil
		}
		if same, err := m.same(ctx, a.Name, a.Source); err != nil {
			return nil, err
		} else if same {
			comment += " - files are identical but force flag is set"
		}
	}
	if change.Test(ctx) {
		return change.Would(asked, nil, `File "`+a.Source+`" is set to be copied to "`+
			a.Name+`"`), nil
	}
	return m.copied(ctx, a, asked, comment)
}

// copyOwners completes owner and mode.
func (m places) copyOwners(ctx context.Context, a *copyArgs) (complaint string, err error) {
	for _, one := range []struct {
		to  *any
		fun string
	}{{&a.User, "file.get_user"}, {&a.Group, "file.get_group"}, {&a.Mode, "file.get_mode"}} {
		if !a.Preserve && (one.fun != "file.get_mode" || a.Mode != nil) {
			continue
		}
		if *one.to, err = m.call(ctx, one.fun, nil, a.Source); err != nil {
			return "", err
		}
	}
	if a.Preserve {
		return "", nil
	}
	a.User = m.ownerOf(a.User, a.Kwargs)
	if a.User, a.Group, err = m.completeOwners(ctx, a.User, a.Group); err != nil {
		return "", err
	}
	return m.checkUser(ctx, a.User, a.Group)
}

// same reports whether two files have the same content.
func (m places) same(ctx context.Context, a, b string) (bool, error) {
	if !paths.IsFile(a) || !paths.IsFile(b) {
		return false, nil
	}
	x, err := calls.GetHash(ctx, m.env, a, nil)
	if err != nil {
		return false, err
	}
	y, err := calls.GetHash(ctx, m.env, b, nil)
	return x == y, err
}

func (m places) copied(ctx context.Context, a copyArgs, asked, comment string) (*data.Map, error) {
	if dir := dirname(a.Name); !paths.IsDir(dir) {
		if !a.Makedirs {
			return change.Failed(asked, "The target directory "+dir+" is not present"), nil
		}
		if a.DirMode == nil {
			a.DirMode = searchable(a.Mode)
		}
		owned := calls.Owned{User: a.User, Group: a.Group, Mode: a.DirMode}
		if err := calls.MakeDirs(ctx, m.env, a.Name, owned); err != nil {
			return nil, err
		}
	}
	isDir := paths.IsDir(a.Source)
	if paths.LinkExists(a.Name) && (isDir || !paths.IsFile(a.Name) || paths.IsLink(a.Name)) {
		if _, err := m.call(ctx, "file.remove", data.NewMap("force", true), a.Name); err != nil {
			return change.Failed(asked, `Failed to delete "`+a.Name+
				`" in preparation for forced move`), nil
		}
	}
	if _, err := m.call(ctx, "file.copy", data.NewMap("recurse", isDir), a.Source,
		a.Name); err != nil {
		return change.Failed(asked, `Failed to copy "`+a.Source+`" to "`+a.Name+`"`), nil
	}
	ret := change.New(asked, true, data.NewMap(a.Name, a.Source), comment)
	if isDir {
		err := walk(a.Name, nil, func(path string, _ bool) {
			// check_perms reports errors for the whole
			_, _ = m.call(ctx, "file.lchown", nil, path, a.User, a.Group)
		})
		if err != nil {
			return nil, err
		}
	}
	if a.Preserve {
		return ret, nil
	}
	checked, _, err := calls.CheckPerms(ctx, m.env, calls.Permissions{
		Path: a.Name, Changes: ret, User: a.User, Group: a.Group, Mode: a.Mode,
	})
	return checked, err
}

// searchable returns the directory mode for a file mode: everyone who may read may also enter.
func searchable(mode any) any {
	if mode == nil {
		return nil
	}
	digits := []byte(data.Str(mode))
	digits = digits[max(0, len(digits)-3):]
	for i, d := range digits {
		if d >= '1' && d <= '7' {
			digits[i] = '0' + (d - '0') | 1
		}
	}
	return string(digits)
}

type renameArgs struct {
	Name     string
	Source   string
	Force    bool      `default:"False"`
	Makedirs bool      `default:"False"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// rename moves a file or directory of the minion if it exists, unless the new name exists.
//
// force
//
//	Replace an existing file.
//
// makedirs
//
//	Create missing parent directories.
//
//	/etc/new.conf:
//	  file.rename:
//	    - source: /etc/old.conf
func (m places) rename(ctx context.Context, a renameArgs) (any, error) {
	ret, err := m.renamed(ctx, a)
	if err != nil {
		return nil, err
	}
	return ordered(ret.Map(), "name", "changes", "comment", "result"), nil
}

func (m places) renamed(ctx context.Context, a renameArgs) (change.Result, error) {
	name, source := expandPath(a.Name), expandPath(a.Source)
	switch {
	case name == "":
		return change.Refuse(name, "Must provide name to file.rename")
	case !filepath.IsAbs(name):
		return change.Refuse(name, notAbsolute(name))
	}
	return change.Thing[string]{
		Name: name,
		Look: func(context.Context) (string, error) { return stays(source, name, a.Force), nil },
		Wants: func(stays string) *data.Map {
			return change.When(stays == "", data.NewMap(name, source))
		},
		Apply: func(ctx context.Context, _ string) error { return m.move(ctx, source, name, a.Makedirs) },
		Say: func(o change.Outcome[string]) any {
			switch o.Stage {
			case change.StageSame:
				return o.Before
			case change.StageWould:
				return `File "` + source + `" is set to be moved to "` + name + `"`
			case change.StageDone:
				return `Moved "` + source + `" to "` + name + `"`
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

// stays returns why a file is not moved, or "".
func stays(source, name string, force bool) string {
	switch {
	case !paths.LinkExists(source):
		return `Source file "` + source + `" has already been moved out of place`
	case paths.LinkExists(name) && !force:
		return `The target file "` + name + `" exists and will not be overwritten`
	}
	return ""
}

// move moves a file after removing the target.
func (m places) move(ctx context.Context, source, name string, makedirs bool) error {
	if paths.LinkExists(name) {
		if _, err := m.call(ctx, "file.remove", nil, name); err != nil {
			return change.Reason(`Failed to delete "` + name + `" in preparation for forced move`)
		}
	}
	if dir := dirname(name); !paths.IsDir(dir) {
		if !makedirs {
			return change.Reason("The target directory " + dir + " is not present")
		}
		if err := calls.MakeDirs(ctx, m.env, name, calls.Owned{}); err != nil {
			return change.Raise(err)
		}
	}
	if _, err := m.call(ctx, "file.move", nil, source, name); err != nil {
		return change.Reason(`Failed to move "` + source + `" to "` + name + `"`)
	}
	return nil
}
