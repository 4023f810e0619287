//go:build !linux

// Package shadow is Salt's module shadow, which is not available on this system.
package shadow

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

func newModule(*loader.Env) (*loader.Module, error) {
	return nil, errors.New("the shadow execution module cannot be loaded: only available on Linux")
}
