//go:build unix && !linux

package saltutil

import (
	"fmt"
	"os/exec"
	"strings"
)

// alive reports whether a process runs.
func alive(pid int64) bool { return exists(pid) }

// parents returns the parent of every process.
func parents() map[int64]int64 {
	list, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output()
	if err != nil {
		return nil // nothing is known without ps
	}
	all := map[int64]int64{}
	for line := range strings.Lines(string(list)) {
		var pid, parent int64
		if _, err := fmt.Sscan(line, &pid, &parent); err == nil {
			all[pid] = parent
		}
	}
	return all
}
