package file

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// processUmask returns the umask of this process. Reading it does not change it.
func processUmask() fs.FileMode {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if mask, ok := strings.CutPrefix(line, "Umask:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(mask), 8, 32); err == nil {
				return fs.FileMode(n)
			}
		}
	}
	return 0o022
}
