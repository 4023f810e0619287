//go:build !linux

// Package status is Salt's module status, which is not available on this system.
package status

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

func newModule(*loader.Env) (*loader.Module, error) {
	return nil, errors.New("This platform is not supported by this module") //nolint:staticcheck // as Salt's text for Windows
}
