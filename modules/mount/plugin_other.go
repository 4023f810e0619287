//go:build !unix

// Package mount is Salt's module mount. It is not available on this system.
package mount

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

func newModule(*loader.Env) (*loader.Module, error) {
	return nil, errors.New("The mount module cannot be loaded: not a POSIX-like system.") //nolint:staticcheck // Salt's text
}
