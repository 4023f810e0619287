//go:build !linux

package localcache

import "errors"

func mountSmall(string, int) (func() error, error) { return nil, errors.ErrUnsupported }
