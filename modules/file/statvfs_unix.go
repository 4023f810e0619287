//go:build unix && !linux

package file

import (
	"errors"

	"github.com/brineproject/brine/data"
)

func volume(string) (*data.Map, error) { return nil, errors.ErrUnsupported }
