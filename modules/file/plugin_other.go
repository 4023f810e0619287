//go:build !unix

// Package file is Salt's module file. It is not available on this system.
package file

import (
	"errors"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

func newModule(*loader.Env, render.Brought) (*loader.Module, error) {
	return nil, errors.New("The file execution module cannot be loaded: only available on non-Windows systems - use win_file instead.") //nolint:staticcheck // Salt's text
}
