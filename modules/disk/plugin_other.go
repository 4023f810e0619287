//go:build !linux

// Package disk is Salt's module disk. It is not available on this system.
package disk

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

func newModule(*loader.Env) (*loader.Module, error) {
	return nil, errors.New("the disk execution module cannot be loaded: only available on Linux")
}
