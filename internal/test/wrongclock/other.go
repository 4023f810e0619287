//go:build !(linux && amd64)

package wrongclock

import (
	"os/exec"
	"time"
)

// Start returns an error that wraps ErrRefused.
func Start(*exec.Cmd, time.Duration) (*Clock, error) { return nil, ErrRefused }

// A Clock is that of a process.
type Clock struct{}

// Set returns ErrRefused.
func (*Clock) Set(time.Duration) error { return ErrRefused }
