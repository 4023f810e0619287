package minion

import (
	"bytes"
	"os"
	"strconv"
)

// isSalt reports whether process pid is alive and its command line contains salt
// (salt/utils/minion.py, _check_cmdline).
func isSalt(pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.Contains(line, []byte("salt"))
}
