//go:build !unix

// Package group is Salt's module group. It is not available on this system.
package group

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

func newModule(*loader.Env) (*loader.Module, error) {
	return nil, errors.New("the group execution module cannot be loaded: only available on Unix")
}
