package saltutil

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// alive reports whether a process runs and is Salt's, by its command line (salt/utils/minion.py,
// _check_cmdline). Process ids are reused.
func alive(pid int64) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return !hasProc() && exists(pid)
	}
	return err == nil && bytes.Contains(line, []byte("salt"))
}

// hasProc reports whether /proc exists.
func hasProc() bool {
	_, err := os.Stat("/proc/self")
	return err == nil
}

// parents returns the parent of every process.
func parents() map[int64]int64 {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil // nothing is known without /proc
	}
	all := map[int64]int64{}
	for _, e := range entries {
		if pid, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			if parent, ok := parentOf(pid); ok {
				all[pid] = parent
			}
		}
	}
	return all
}

// parentOf reads the parent from /proc/PID/stat: the second field after the name in parentheses.
func parentOf(pid int64) (int64, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return parent, err == nil
}
