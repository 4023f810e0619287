//go:build !linux

package sysfs

import "errors"

func readNow(string) ([]byte, error) { return nil, errors.ErrUnsupported }
