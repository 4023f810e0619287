//go:build !unix

// Package user is Salt's module user, which is not available on this system.
package user

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

func newModule(*loader.Env) (*loader.Module, error) {
	return nil, errors.New("the user execution module cannot be loaded: only available on Unix")
}
