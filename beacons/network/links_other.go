//go:build !linux

package network

import (
	"errors"

	"github.com/brineproject/brine/data"
)

// readLinks returns an error: the settings of interfaces are read on Linux only.
func readLinks() (map[string]*data.Map, error) {
	return nil, errors.New("the settings of network interfaces are only available on Linux")
}
