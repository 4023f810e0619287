package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/brineproject/brine/internal/unpack"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// refuseOutside fails the state if a name leads outside the directory.
func (e *extraction) refuseOutside() (bool, error) {
	for _, kind := range []string{"dirs", "files", "links"} {
		for _, name := range e.of(kind) {
			if _, err := unpack.Local(name); err != nil {
				return e.fail("Refusing to extract " + e.shown() + " to " + e.name +
					": " + err.Error())
			}
		}
	}
	return false, nil
}

// compare checks whether everything in the archive exists.
func (e *extraction) compare(ctx context.Context) (bool, error) {
	e.needed = e.a.Overwrite
	var wrong []string
	for _, one := range []struct {
		kind string
		fits func(fs.FileMode) bool
	}{
		{"dirs", fs.FileMode.IsDir},
		{"files", func(m fs.FileMode) bool { return !m.IsDir() && m&fs.ModeSymlink == 0 }},
		{"links", func(m fs.FileMode) bool { return m&fs.ModeSymlink != 0 }},
	} {
		for _, path := range e.of(one.kind) {
			info, err := os.Lstat(strings.TrimRight(join(e.name, path), "/"))
			switch {
			case err == nil && !one.fits(info.Mode()):
				wrong = append(wrong, path)
			case errors.Is(err, fs.ErrNotExist):
				e.needed, e.missing = true, true
			case err != nil && !errors.Is(err, syscall.ENOTDIR):
				return e.fail(loader.OSError(err).Error())
			}
		}
	}
	if len(wrong) == 0 {
		return false, nil
	}
	return e.replaceWrong(ctx, wrong)
}

// replaceWrong removes the paths of another kind than in the archive, or reports them.
func (e *extraction) replaceWrong(ctx context.Context, wrong []string) (bool, error) {
	text := "The below paths (relative to " + e.name +
		") exist, but are the incorrect type (file instead of directory, symlink instead of " +
		"file, etc.)."
	paths := "\n" + bullets(wrong)
	switch {
	case change.Test(ctx) && e.a.Clean:
		return e.end(nil, text+" Since the 'clean' option is enabled, the destination paths would be cleared and the archive would be extracted."+paths)
	case change.Test(ctx) && e.a.CleanParent:
		return e.end(nil, text+" Since the 'clean_parent' option is enabled, the destination parent directory would be removed first and then "+
			"re-created and the archive would be extracted")
	case e.a.Clean:
		e.needed = true
		return false, nil
	case !e.a.Force:
		return e.fail(text + " To proceed with extraction, set 'force' to True. Note that this will remove these paths before extracting." + paths)
	case change.Test(ctx):
		e.needed = true
		return false, nil
	}
	e.needed = true
	return e.remove(wrong, "One or more paths existed by were the incorrect type (i.e. file instead of directory or vice-versa), but could not be "+
		"removed. The following errors were observed:\n")
}

// remove removes paths below the directory. If that fails, for example because a link leads outside
// the directory, complaint begins the comment.
func (e *extraction) remove(paths []string, complaint string) (bool, error) {
	root, err := os.OpenRoot(e.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return e.fail(complaint + bullets([]string{loader.OSError(err).Error()}))
	}
	defer root.Close()
	var failed []string
	for _, path := range paths {
		full := join(e.name, path)
		switch gone, err := removeIn(root, path); {
		case err != nil:
			failed = append(failed, loader.OSError(&fs.PathError{Op: "remove",
				Path: strings.TrimRight(full, "/"), Err: err}).Error())
		case gone:
			removed, _ := e.changes().Value("removed").([]any)
			e.changes().Set("removed", append(removed, full))
		}
	}
	if failed != nil {
		return e.fail(complaint + bullets(failed))
	}
	return false, nil
}

// removeIn removes a path below a directory, and reports whether it existed.
func removeIn(root *os.Root, name string) (bool, error) {
	local, err := unpack.Local(name)
	if err != nil {
		return false, err
	}
	_, err = root.Lstat(local)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = root.RemoveAll(local)
	}
	if known, ok := errors.AsType[*fs.PathError](err); ok {
		return true, known.Err
	}
	return true, err
}

// makeRoom removes the paths for clean and clean_parent.
func (e *extraction) makeRoom() (bool, error) {
	if e.a.CleanParent {
		bare := strings.TrimRight(e.name, "/")
		if _, err := os.Lstat(bare); err == nil {
			if bare == "" {
				return e.fail("Unable to remove the directory /. The following errors were observed:\n\n- it is the root of the system")
			}
			if err := os.RemoveAll(bare); err != nil {
				return e.fail("Unable to remove the directory " + e.name +
					". The following errors were observed:\n\n- " + loader.OSError(err).Error())
			}
			e.changes().Set("removed", "Directory "+e.name+" was removed prior to the extraction")
		}
	}
	if !e.a.Clean {
		return false, nil
	}
	top := append(e.of("top_level_dirs"), e.of("top_level_files")...)
	return e.remove(top, "One or more paths could not be cleaned. The following errors were observed:\n")
}
