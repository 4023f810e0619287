package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// directories makes directories, and removes empty ones.
type directories struct {
	env   *loader.Env
	perms perms
}

// mkdir makes a directory and its parents if they do not exist.
//
// CLI Example:
//
//	salt '*' file.mkdir /opt/jetty/context
func (m directories) mkdir(ctx context.Context, a mkdirArgs) (any, error) {
	dir := filepath.Clean(home(a.dir()))
	if paths.IsDir(dir) {
		return true, nil
	}
	if err := m.makeAll(ctx, dir, a.owner(), 0); err != nil {
		return nil, err
	}
	return true, nil
}

// An owner is the wanted user, group and mode of a file. None keeps the current value.
type owner struct {
	user, group, mode any
	access            accessList
}

// makedirs makes the parent directory of a path, and the directories above it. End the path of a
// directory itself with a slash. If there is nothing to do, the result is a text.
//
// CLI Example:
//
//	salt '*' file.makedirs /opt/code/
func (m directories) makedirs(ctx context.Context, a makedirsArgs) (any, error) {
	return m.makeParents(ctx, a.Path, a.owner())
}

// makeParents makes the directories above a path.
func (m directories) makeParents(ctx context.Context, path string, o owner) (any, error) {
	where := home(path)
	dir := filepath.Clean(filepath.Dir(where + "x")) // a separator at the end counts
	switch {
	case paths.IsDir(dir):
		return "Directory '" + dir + "' already exists", nil
	case paths.Exists(dir):
		return "The path '" + dir + "' already exists and is not a directory", nil
	}
	if data.Truth(o.mode) {
		o.mode, _ = normalMode(o.mode)
	}
	var pending []string
	for ; !paths.IsDir(dir); dir = filepath.Dir(dir) {
		if filepath.Dir(dir) == dir {
			return nil, loader.Invocation("Recursive creation for path '%s' would result in an infinite loop. "+
				"Please use an absolute path.", dir)
		}
		pending = append(pending, dir)
	}
	for _, dir := range slices.Backward(pending) {
		if paths.IsDir(dir) { // made meanwhile
			continue
		}
		if err := m.makeAll(ctx, dir, o, 0); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// makedirsPerms makes a directory and its missing parents, and sets owners and mode of each.
//
// CLI Example:
//
//	salt '*' file.makedirs_perms /opt/code
func (m directories) makedirsPerms(ctx context.Context, a makedirsPermsArgs) (any, error) {
	return nil, m.makeAll(ctx, filepath.Clean(home(a.dir())), a.owner(), 0)
}

// mostDirs limits the depth of directories to make.
const mostDirs = 1000

func (m directories) makeAll(ctx context.Context, dir string, o owner, depth int) error {
	if depth > mostDirs {
		return loader.Execution("make directory: %s is too deep", dir)
	}
	if above := filepath.Dir(dir); above != dir && !paths.Exists(above) {
		if err := m.makeAll(ctx, above, o, depth+1); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return osError(err)
	}
	if change.CallOf(ctx).Umask != "" {
		if err := os.Chmod(dir, 0o777&^umask(ctx)); err != nil {
			return osError(err)
		}
	}
	var mode any
	if data.Truth(o.mode) {
		n, err := strconv.Atoi(data.Str(o.mode))
		if err != nil {
			return loader.Exception("ValueError", "invalid literal for int() with base 10: %s",
				data.Repr(data.Str(o.mode)))
		}
		mode = int64(n)
	}
	_, _, err := m.perms.set(ctx, permsArgs{Name: dir, User: o.user, Group: o.group, Mode: mode,
		access: o.access})
	return err
}
