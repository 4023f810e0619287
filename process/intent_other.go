//go:build !linux

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// newIntent returns an error where processes have no marks.
func newIntent(cmd *exec.Cmd, _ []*os.File) (Intent, error) {
	return Intent{}, fmt.Errorf("record the start of %s: %w", cmd.Path, errors.ErrUnsupported)
}

// FindLeft finds nothing where processes have no marks.
func FindLeft([]Intent, []Mark) []Mark { return nil }
