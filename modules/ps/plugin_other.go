//go:build !linux

// Package ps is Salt's module ps, which is not available on this system.
package ps

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

func newModule(*loader.Env) (*loader.Module, error) {
	return nil, errors.New("the ps module cannot be loaded: only available on Linux")
}
