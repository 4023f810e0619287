package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// defaultDirs are searched after PATH, as Salt does, in case PATH is broken.
const defaultDirs = "/sbin /bin /usr/sbin /usr/bin /usr/local/sbin /usr/local/bin"

// Find returns the path of a program in the search path or in the usual directories, or "" if there
// is none. It is which of salt/utils/path.py, except that it does not search the daemon's current
// directory.
func Find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if runtime.GOOS == "windows" || strings.Contains(name, "/") {
		return ""
	}
	known := filepath.SplitList(os.Getenv("PATH"))
	for dir := range strings.FieldsSeq(defaultDirs) {
		if slices.Contains(known, dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}
