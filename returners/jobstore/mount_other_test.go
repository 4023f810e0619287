//go:build !linux

package jobstore

import "errors"

func mountSmall(string, int) (func() error, error) { return nil, errors.ErrUnsupported }
