package file

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type directoryArgs struct {
	Name           string
	User           any       `default:"None"`
	Group          any       `default:"None"`
	Recurse        any       `default:"None"`
	MaxDepth       any       `default:"None"`
	DirMode        any       `default:"None"`
	FileMode       any       `default:"None"`
	Makedirs       bool      `default:"False"`
	Clean          bool      `default:"False"`
	Require        any       `default:"None"`
	ExcludePat     any       `default:"None"`
	FollowSymlinks bool      `default:"False"`
	Force          bool      `default:"False"`
	Backupname     any       `default:"None"`
	AllowSymlink   bool      `default:"True"`
	ChildrenOnly   bool      `default:"False"`
	WinOwner       any       `default:"None"`
	WinPerms       any       `default:"None"`
	WinDenyPerms   any       `default:"None"`
	WinInheritance any       `default:"True"`
	WinPermsReset  any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// directory makes a directory.
//
// user, group, dir_mode, file_mode
//
//	Its owner, its mode (mode is a synonym), and the mode of the files in it.
//
// recurse, max_depth, children_only
//
//	What else applies to the contents: a list of user, group, mode, ignore_files, ignore_dirs and
//	silent; how deep; whether to leave out the directory itself.
//
// makedirs
//
//	Create missing parent directories.
//
// clean, exclude_pat
//
//	Remove files that are not managed by a state that this one requires, except those that match a
//	glob, or E@ and a regular expression.
//
// follow_symlinks, allow_symlink, force, backupname
//
//	Set owners and modes of link targets; accept a link to a directory; replace an existing file;
//	rename it first.
//
//	/srv/stuff/substuf:
//	  file.directory:
//	    - user: fred
//	    - mode: "0755"
//	    - makedirs: True
func (m directories) directory(ctx context.Context, a directoryArgs) (any, error) {
	ret, err := m.manageDirectory(ctx, a)
	if err != nil {
		return nil, err
	}
	ret.Set("name", home(a.Name)) // keep a trailing slash if one was given
	return ret, nil
}

func (m directories) manageDirectory(ctx context.Context, a directoryArgs) (*data.Map, error) {
	a.Name = home(a.Name)
	a.Name = withoutSlash(a.Name)
	if a.Name == "" {
		return change.Failed(a.Name, "Must provide name to file.directory"), nil
	}
	if a.MaxDepth != nil && a.Clean {
		return change.Failed(a.Name, "Cannot specify both max_depth and clean"), nil
	}
	a.User = m.ownerOf(a.User, a.Kwargs)
	if !data.Truth(a.DirMode) && a.Kwargs.Has("mode") {
		a.DirMode = a.Kwargs.Value("mode")
	}
	if !data.Truth(a.FileMode) {
		a.FileMode = a.DirMode
	}
	a.DirMode, a.FileMode = normalMode(a.DirMode), normalMode(a.FileMode)
	if onWindows {
		a.User = m.ownerOnWindows(a.WinOwner, a.User, a.Group, a.Name)
		a.Group, a.DirMode, a.FileMode = nil, nil, nil
	}
	complaint, err := m.checkUser(ctx, a.User, a.Group)
	if err != nil {
		return nil, err
	}
	if complaint == "" && !filepath.IsAbs(a.Name) {
		complaint = notAbsolute(a.Name)
	}
	if complaint != "" {
		return change.Failed(a.Name, complaint), nil
	}
	forced, ended, err := m.clearPlace(ctx, a)
	if err != nil || ended != nil {
		return ended, err
	}
	return m.ensureDirectory(ctx, a, forced)
}

// clearPlace removes or renames a file or link that is in the way. It returns the changes, or the
// result of the state if there is nothing more to do.
func (m directories) clearPlace(
	ctx context.Context, a directoryArgs,
) (changes, ended *data.Map, err error) {
	changes = data.NewMap()
	if !paths.IsFile(a.Name) && !(paths.IsLink(a.Name) && (!a.AllowSymlink || a.Force)) {
		return changes, nil, nil
	}
	kind, word := "File", "file"
	if !paths.IsFile(a.Name) {
		kind, word = "Symlink", "symlink"
	}
	switch {
	case a.Backupname != nil:
		ended, err = m.moveAway(ctx, a)
	case a.Force && change.Test(ctx):
		changes.Set("forced", kind+" would be forcibly replaced")
	case a.Force:
		if _, err := m.call(ctx, "file.remove", nil, a.Name); err != nil {
			return nil, nil, err
		}
		changes.Set("forced", kind+" was forcibly replaced")
	default:
		ended = change.Failed(a.Name, "Specified location "+a.Name+" exists and is a "+word)
	}
	return changes, ended, err
}

// moveAway renames what is in the way to the backup name. It returns a result if that ends the
// state: the name is taken, or in test mode.
func (m directories) moveAway(ctx context.Context, a directoryArgs) (ended *data.Map, err error) {
	backup := data.Str(a.Backupname)
	switch occupied := paths.LinkExists(backup); {
	case occupied && !a.Force:
		return change.Failed(a.Name, "File exists where the backup target "+backup+
			" should go"), nil
	case change.Test(ctx):
		changes := data.NewMap()
		if occupied {
			changes.Set("forced", "Existing file at backup path "+backup+" would be removed")
		}
		changes.Set("backup", a.Name+" would be renamed to "+backup)
		changes.Set(a.Name, data.NewMap("directory", "new"))
		return change.Would(a.Name, changes,
			a.Name+" would be backed up and replaced with a new directory"), nil
	case occupied:
		if _, err := m.call(ctx, "file.remove", nil, backup); err != nil {
			return nil, err
		}
	}
	_, err = m.call(ctx, "file.rename", nil, a.Name, backup)
	return nil, err
}

// ensureDirectory creates the directory, or brings an existing one and its contents to the desired
// state.
func (m directories) ensureDirectory(
	ctx context.Context, a directoryArgs, forced *data.Map,
) (*data.Map, error) {
	if complaint := untrustedLink(a.Name); complaint != "" {
		return change.Failed(a.Name, complaint), nil
	}
	s, err := m.survey(ctx, a)
	if err != nil {
		return nil, err
	}
	changes := forced
	changes.Update(s.changes)
	if change.Test(ctx) || changes.Len() == 0 {
		return change.New(a.Name, s.result, changes, s.comment), nil
	}
	if s.result == false {
		return change.New(a.Name, false, changes, s.comment), nil
	}
	if !paths.IsDir(a.Name) {
		return m.makeDirectory(ctx, a, changes)
	}
	return m.apply(ctx, a, s, forced)
}

func (m directories) makeDirectory(
	ctx context.Context, a directoryArgs, changes *data.Map,
) (*data.Map, error) {
	if above := dirname(a.Name); !paths.IsDir(above) {
		if !a.Makedirs {
			return change.New(a.Name, false, changes, "No directory to create "+a.Name+" in"), nil
		}
		owned := calls.Owned{User: a.User, Group: a.Group, Mode: a.DirMode}
		if err := calls.MakeDirs(ctx, m.env, a.Name, owned); err != nil {
			return nil, err
		}
	}
	owned := calls.Owned{User: a.User, Group: a.Group, Mode: a.DirMode}
	if err := calls.Mkdir(ctx, m.env, a.Name, owned); err != nil {
		return nil, err
	}
	if !paths.IsDir(a.Name) {
		return change.New(a.Name, false, changes, "Failed to create directory "+a.Name), nil
	}
	changes.Set(a.Name, data.NewMap("directory", "new"))
	if onWindows && a.access() != (win{inherit: true, reset: false}) {
		checked, _, err := calls.CheckPerms(ctx, m.env, calls.Permissions{Path: a.Name,
			Changes: change.New(a.Name, true, changes, ""), User: a.User, More: a.access().more()})
		return checked, err
	}
	return change.New(a.Name, true, changes, ""), nil
}

// ownership is a desired owner and mode, and for Windows the arguments of an access control list.
type ownership struct {
	user, group, mode any
	more              *data.Map
}

// access returns the arguments for Windows without the owner.
func (a directoryArgs) access() win {
	return win{nil, a.WinPerms, a.WinDenyPerms, a.WinInheritance, a.WinPermsReset}
}

// accessDiffers returns the differences between a file or directory and its desired owner and access
// control list on Windows.
func (m directories) accessDiffers(ctx context.Context, at pathState) (*data.Map, error) {
	call := *change.CallOf(ctx)
	call.Test = true
	ret, _, err := calls.CheckPerms(change.WithCall(ctx, &call), m.env, calls.Permissions{Path: at.path,
		User: at.want.user, More: at.want.more})
	if err != nil {
		return nil, err
	}
	changes, _ := ret.Value("changes").(*data.Map)
	return changes, nil
}

// A survey lists the differences between a directory and its desired state.
type survey struct {
	changes *data.Map
	comment string
	result  any
	pending []pathState // entries that were checked
	remove  []string
	silent  bool
}

// A pathState is a file or directory with its desired owner and mode.
type pathState struct {
	path string
	want ownership
}

// survey compares a directory and, with recurse and clean, its contents.
func (m directories) survey(ctx context.Context, a directoryArgs) (*survey, error) {
	s := &survey{changes: data.NewMap(), result: true, comment: "The directory " + a.Name +
		" is in the correct state"}
	kinds, complaint := recurseSet(a.Recurse)
	if complaint != "" {
		return &survey{changes: data.NewMap(), result: false, comment: complaint}, nil
	}
	s.silent = kinds["silent"]
	if kinds != nil || a.Clean {
		if err := s.walk(ctx, m, a, kinds); err != nil {
			return nil, err
		}
	}
	if !a.ChildrenOnly || !paths.IsDir(a.Name) {
		s.pending = append(s.pending, pathState{a.Name, ownership{a.User, a.Group, a.DirMode, a.access().more()}})
	}
	for _, at := range s.pending {
		differs, err := m.differs(ctx, at, a.FollowSymlinks)
		if err != nil {
			return nil, err
		}
		if differs.Len() > 0 {
			s.changes.Set(at.path, differs)
		}
	}
	for _, path := range s.remove {
		s.changes.Set(path, data.NewMap("removed", "Removed due to clean"))
	}
	if !paths.IsDir(a.Name) {
		s.changes.Set(a.Name, data.NewMap("directory", "new"))
	}
	if s.changes.Len() == 0 {
		return s, nil
	}
	s.result, s.comment = nil, "The following files will be changed:\n"
	for path, v := range s.changes.All() {
		for key, what := range v.(*data.Map).All() {
			s.comment += data.Str(path) + ": " + data.Str(key) + " - " + data.Str(what) + "\n"
		}
	}
	return s, nil
}

// walk adds the contents of a directory to which recurse applies, and the paths that clean removes.
func (s *survey) walk(
	ctx context.Context, m directories, a directoryArgs, kinds map[string]bool,
) error {
	var keep map[string]bool
	exclude, err := excluder(a.ExcludePat)
	if err == nil && a.Clean {
		keep, err = m.keepFiles(ctx, a.Name, a.Require)
	}
	if err != nil {
		return err
	}
	files, dirs := ownership{mode: a.FileMode}, ownership{mode: a.DirMode}
	if onWindows && kinds["user"] {
		files.more, dirs.more = a.access().more(), a.access().more()
	}
	if !kinds["mode"] {
		files.mode, dirs.mode = nil, nil
	}
	if kinds["user"] {
		files.user, dirs.user = a.User, a.User
	}
	if kinds["group"] {
		files.group, dirs.group = a.Group, a.Group
	}
	return walk(a.Name, a.MaxDepth, func(path string, dir bool) {
		switch {
		case a.Clean && !keep[path] && !exclude(relative(a.Name, path)):
			s.remove = append(s.remove, path)
		case kinds == nil:
		case dir && !kinds["ignore_dirs"]:
			s.pending = append(s.pending, pathState{path, dirs})
		case !dir && !kinds["ignore_files"]:
			s.pending = append(s.pending, pathState{path, files})
		}
	})
}

func relative(base, path string) string {
	rel, err := filepath.Rel(base, path)
	if err != nil {
		return path
	}
	return rel
}

// walk calls visit for everything below a directory. Links to directories are reported as
// directories but not followed. Depth 1 covers the directory's own entries, depth 0 nothing.
func walk(top string, depth any, visit func(path string, dir bool)) error {
	most := -1
	if depth != nil {
		n, err := loader.Int(depth)
		if err != nil {
			return err
		}
		most = int(n)
	}
	if _, err := os.Lstat(top); err != nil {
		return nil //nolint:nilerr // it is going to be created
	}
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		return nil //nolint:nilerr // like os.walk
	}
	return walkBelow(real, top, most, visit)
}

// walkBelow is walk for the directory at, whose name is path. Like Python's os.walk it visits the
// files of a directory before its subdirectories, and these before their contents.
func walkBelow(at, path string, depth int, visit func(path string, dir bool)) error {
	if depth == 0 {
		return nil
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return err
	}
	dirs := map[bool][]fs.DirEntry{}
	for _, e := range entries {
		dir := paths.IsDir(filepath.Join(at, e.Name()))
		dirs[dir] = append(dirs[dir], e)
	}
	for _, dir := range []bool{false, true} {
		for _, e := range dirs[dir] {
			visit(filepath.Join(path, e.Name()), dir)
		}
	}
	for _, e := range dirs[true] {
		if !e.IsDir() {
			continue // a link
		}
		if err := walkBelow(filepath.Join(at, e.Name()), filepath.Join(path, e.Name()), depth-1,
			visit); err != nil {
			return err
		}
	}
	return nil
}

// recurseSet parses the argument recurse. It returns nil if there is none.
func recurseSet(v any) (map[string]bool, string) {
	if !data.Truth(v) {
		return nil, ""
	}
	list, ok := v.([]any)
	if !ok {
		return nil, `"recurse" must be formed as a list of strings`
	}
	set := map[string]bool{}
	for _, kind := range list {
		if name, _ := kind.(string); !slices.Contains([]string{"user", "group", "mode",
			"ignore_files", "ignore_dirs", "silent"}, name) {
			return nil, `Types for "recurse" limited to "user", "group", "mode", "ignore_files", "ignore_dirs", "silent".`
		}
		set[kind.(string)] = true
	}
	if set["ignore_files"] && set["ignore_dirs"] {
		return nil, `Must not specify "recurse" options "ignore_files" and "ignore_dirs" at the same time.`
	}
	return set, ""
}

// differs returns the differences between a file or directory and its desired state.
func (m directories) differs(ctx context.Context, at pathState, follow bool) (*data.Map, error) {
	changes := data.NewMap()
	st, err := loader.CallAs[*data.Map](ctx, m.env, "file.stats", []any{at.path, nil, follow}, nil)
	if loader.KindOf(err) == loader.KindExecution {
		return data.NewMap("directory", "new"), nil
	}
	if err != nil {
		return nil, err
	}
	if onWindows {
		return m.accessDiffers(ctx, at)
	}
	if at.want.user != nil && !data.Equal(at.want.user, st.Value("user")) &&
		!data.Equal(at.want.user, st.Value("uid")) {
		changes.Set("user", at.want.user)
	}
	if at.want.group != nil && !data.Equal(at.want.group, st.Value("group")) &&
		!data.Equal(at.want.group, st.Value("gid")) {
		changes.Set("group", at.want.group)
	}
	if at.want.mode != nil && at.want.mode != st.Value("mode") &&
		(follow || st.Value("type") != "link") {
		changes.Set("mode", at.want.mode)
	}
	return changes, nil
}

// bound returns arguments that confine operations on a path to the directory, because users of the
// host may place links in between. It returns none for the directory itself or if links are
// followed.
func (a directoryArgs) bound(path string) *data.Map {
	if a.FollowSymlinks || path == a.Name {
		return nil
	}
	return data.NewMap("within", a.Name)
}

// more returns the further arguments of check_perms for a path.
func (a directoryArgs) more(at pathState) *data.Map {
	if onWindows {
		return at.want.more
	}
	return a.bound(at.path)
}

// apply brings an existing directory and its contents to the desired state.
func (m directories) apply(
	ctx context.Context, a directoryArgs, s *survey, forced *data.Map,
) (*data.Map, error) {
	ret := change.New(a.Name, true, forced, "")
	if complaint := a.targetless(); complaint != "" {
		ret.Set("result", false)
		ret.Set("comment", complaint)
	}
	if s.silent {
		ret.Set("changes", data.NewMap("recursion", "Changes silenced"))
	}
	// As in Salt the directory itself comes first. The owner and mode next to the paths in the
	// result are those of the last path.
	first := slices.IndexFunc(s.pending, func(at pathState) bool { return at.path == a.Name })
	order := s.pending
	if first >= 0 {
		order = slices.Concat(s.pending[first:first+1], s.pending[:first], s.pending[first+1:])
	}
	for _, at := range order {
		checked, _, err := calls.CheckPerms(ctx, m.env, calls.Permissions{
			Path: at.path, Changes: ret, User: at.want.user, Group: at.want.group,
			Mode: at.want.mode, FollowSymlinks: a.FollowSymlinks, More: a.more(at),
		})
		if loader.KindOf(err) == loader.KindExecution &&
			strings.HasPrefix(err.Error(), "Path not found") {
			continue
		}
		if err != nil {
			return nil, err
		}
		ret = checked
	}
	removed, err := m.removeAll(ctx, a.Name, s.remove)
	if err != nil {
		return nil, err
	}
	changes := ret.Value("changes").(*data.Map)
	if len(removed) > 0 {
		changes.Set("removed", removed)
		ret.Set("comment", "Files cleaned from directory "+a.Name)
	}
	comment := ret.Text("comment")
	switch {
	case comment == "" && a.ChildrenOnly:
		ret.Set("comment", "Directory "+a.Name+"/* updated")
	case comment == "" && changes.Len() > 0:
		ret.Set("comment", "Directory "+a.Name+" updated")
	case changes.Len() == 0 && data.Truth(ret.Value("result")):
		ret.Set("comment", strings.TrimSuffix("Directory "+a.Name+" is in the correct state\n"+
			comment, "\n"))
	}
	return ret, nil
}

// targetless returns a message if recurse has user or group but the state has no such argument.
func (a directoryArgs) targetless() string {
	kinds, _ := recurseSet(a.Recurse)
	_, uid := a.User.(int64)
	_, gid := a.Group.(int64)
	switch {
	case kinds["group"] && !data.Truth(a.Group) && !gid:
		return "group not specified, but configured as a target for recursive ownership management"
	case kinds["user"] && !data.Truth(a.User) && !uid:
		return "user not specified, but configured as a target for recursive ownership management"
	}
	return ""
}

// removeAll removes files and directories below a directory, and returns those that existed. For a
// directory removed with its contents it returns only the directory, but in test mode everything.
func (m directories) removeAll(ctx context.Context, within string, paths []string) ([]any, error) {
	var removed []any
	for _, path := range slices.Backward(paths) { // contents before their directory
		if !change.Test(ctx) {
			if _, err := m.call(ctx, "file.remove", data.NewMap("within", within),
				path); err != nil {
				return removed, err
			}
		}
		if above := filepath.Dir(path); change.Test(ctx) || !slices.Contains(paths, above) {
			removed = append(removed, path)
		}
	}
	slices.Reverse(removed)
	return removed, nil
}

// excluder returns a function that reports whether a relative path is left alone. Patterns are
// globs, or E@ and regular expressions.
func excluder(v any) (func(string) bool, error) {
	if !data.Truth(v) {
		return func(string) bool { return false }, nil
	}
	var tests []func(string) bool
	for _, pattern := range texts(v) {
		expr, ok := strings.CutPrefix(pattern, "E@")
		if !ok {
			tests = append(tests, func(path string) bool { return loader.Glob(pattern, path) })
			continue
		}
		re, err := match.CompileRegexp(`(?:[\s\S]*?)(?:` + expr + ")")
		if err != nil {
			return nil, err
		}
		tests = append(tests, re.Match)
	}
	return func(path string) bool {
		return slices.ContainsFunc(tests,
			func(matches func(string) bool) bool { return matches(path) })
	}, nil
}

// keepFiles returns the paths that clean must not remove: those managed by required states, and
// their parent directories.
func (m directories) keepFiles(
	ctx context.Context, name string, require any,
) (map[string]bool, error) {
	keep := map[string]bool{}
	list, _ := require.([]any)
	for _, v := range list {
		one, _ := v.(*data.Map)
		if !one.Has("file") {
			continue
		}
		for _, low := range change.CallOf(ctx).Chunks() {
			made := low.Text("name")
			if made != one.Value("file") && low.Value("__id__") != one.Value("file") ||
				!filepath.IsAbs(made) {
				continue
			}
			if err := m.keepOf(ctx, low, made, name, keep); err != nil {
				return nil, err
			}
		}
	}
	return keep, nil
}

// keepOf adds the paths that one state manages.
func (m directories) keepOf(
	ctx context.Context, low *data.Map, made, name string, keep map[string]bool,
) error {
	if !paths.IsDir(made) {
		keepPath(keep, made)
		return nil
	}
	if rel := relative(name, made); rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil
	}
	if low.Value("fun") == "recurse" {
		plan, err := m.plan(ctx, recurseOf(low))
		if err == nil {
			for _, path := range plan.keep {
				keepPath(keep, path)
			}
		}
		return err
	}
	keepPath(keep, made)
	return walk(made, nil, func(path string, _ bool) { keepPath(keep, path) })
}

// keepPath adds a path and all its parent directories.
func keepPath(keep map[string]bool, path string) {
	for path = filepath.Clean(path); !keep[path]; path = filepath.Dir(path) {
		keep[path] = true
	}
}
