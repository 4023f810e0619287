package file

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/loader"
)

type accessArgs struct {
	Path string
	Mode any
}

// access reports whether the minion may access a file.
//
// mode
//
//	f tests whether the file exists; r, w and x test whether it may be read, written and executed.
//
// CLI Example:
//
//	salt '*' file.access /path/to/file f
func access(_ context.Context, a accessArgs) (any, error) {
	path := home(a.Path)
	if !filepath.IsAbs(path) {
		return nil, loader.Invocation("Path to link must be absolute.")
	}
	var want permission
	switch a.Mode {
	case "f", int64(0):
		want = mayExist
	case "r", int64(4):
		want = mayRead
	case "w", int64(2):
		want = mayWrite
	case "x", int64(1):
		want = mayExecute
	default:
		return nil, loader.Invocation("Invalid mode specified.")
	}
	return may(path, want), nil
}

// A permission is what access tests, in the bits of access(2).
type permission uint32

const (
	mayExist   permission = 0
	mayExecute permission = 1
	mayWrite   permission = 2
	mayRead    permission = 4
)

// directoryExists reports whether a path is an existing directory. Links are followed.
//
// CLI Example:
//
//	salt '*' file.directory_exists /etc
func directoryExists(_ context.Context, a pathArgs) (any, error) {
	info, err := os.Stat(home(a.Path))
	return err == nil && info.IsDir(), nil
}

// fileExists reports whether a path is an existing regular file. Links are followed; directories
// and devices do not count.
//
// CLI Example:
//
//	salt '*' file.file_exists /etc/passwd
func fileExists(_ context.Context, a pathArgs) (any, error) {
	info, err := os.Stat(home(a.Path))
	return err == nil && info.Mode().IsRegular(), nil
}

// pathExistsGlob reports whether any path matches a glob.
//
// CLI Example:
//
//	salt '*' file.path_exists_glob /etc/pam*/pass*
func pathExistsGlob(_ context.Context, a pathArgs) (any, error) {
	return len(globbed(home(a.Path))) > 0, nil
}

// globbed returns the paths that match, like Python's glob.glob: * does not match a name that
// begins with a dot.
func globbed(pattern string) []string {
	found, err := filepath.Glob(globSigns.Replace(pattern))
	if err != nil {
		return nil
	}
	var kept []string
	for _, path := range found {
		if !hidden(path, pattern) {
			kept = append(kept, path)
		}
	}
	return kept
}

// hidden reports whether a wildcard of the pattern matched a name that begins with a dot.
func hidden(path, pattern string) bool {
	names, signs := pathParts(path), pathParts(pattern)
	for i := range min(len(names), len(signs)) {
		if strings.HasPrefix(names[i], ".") && !strings.HasPrefix(signs[i], ".") {
			return true
		}
	}
	return false
}

// isLink reports whether a path is a symbolic link.
//
// CLI Example:
//
//	salt '*' file.is_link /path/to/link
func isLink(_ context.Context, a pathArgs) (any, error) {
	info, err := os.Lstat(home(a.Path))
	return err == nil && info.Mode()&fs.ModeSymlink != 0, nil
}
