//go:build !linux

package process

import (
	"errors"
	"fmt"
)

// MarkOf returns the mark of a running process. Only Linux has marks; elsewhere the error wraps
// errors.ErrUnsupported.
func MarkOf(pid int) (Mark, error) {
	return Mark{}, fmt.Errorf("mark process %d: %w", pid, errors.ErrUnsupported)
}

// EndLeft ends nothing where processes have no marks: a process id alone does not identify a
// process.
func EndLeft([]Mark, func(cmdline string) bool) (spared []Mark) { return nil }
