package process

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Mark distinguishes one process from all others that ever had or will have its process id, even
// after a restart of the host.
type Mark struct {
	PID   int
	start uint64 // its start time, in clock ticks of the system
	boot  string // the boot that start belongs to
}

// errNoMark is returned by ParseMark.
var errNoMark = errors.New("not the mark of a process")

// String returns m in the form that ParseMark reads: digits, letters and dashes, which are safe in
// a file name.
func (m Mark) String() string { return fmt.Sprintf("%d-%d-%s", m.PID, m.start, m.boot) }

// ParseMark parses the result of Mark.String.
func ParseMark(s string) (Mark, error) {
	parts := strings.SplitN(s, "-", 3)
	if len(parts) != 3 || !isBoot(parts[2]) {
		return Mark{}, fmt.Errorf("%q: %w", s, errNoMark)
	}
	pid, err := strconv.ParseUint(parts[0], 10, 31)
	start, startErr := strconv.ParseUint(parts[1], 10, 64)
	m := Mark{PID: int(pid), start: start, boot: parts[2]}
	if err != nil || startErr != nil || pid <= 1 || m.String() != s {
		return Mark{}, fmt.Errorf("%q: %w", s, errNoMark)
	}
	return m, nil
}

// isBoot reports whether s can be a boot id.
func isBoot(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdef-") == ""
}
