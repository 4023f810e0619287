package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// usualFolders are searched after PATH, should it be broken, as Salt does.
const usualFolders = "/sbin /bin /usr/sbin /usr/bin /usr/local/sbin /usr/local/bin"

// Find returns the path of a program in the search path, or in the directories where programs usually are; "" where there is none. It is
// which of salt/utils/path.py, but that the directory where the daemon happens to be is not searched.
func Find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if runtime.GOOS == "windows" || strings.Contains(name, "/") {
		return ""
	}
	known := filepath.SplitList(os.Getenv("PATH"))
	for dir := range strings.FieldsSeq(usualFolders) {
		if slices.Contains(known, dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}
