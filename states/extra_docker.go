//go:build !small || docker

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/docker"
)

// docker returns the states for containers.
func (full) docker() []loader.Plugin {
	return []loader.Plugin{
		docker.Container(),
		docker.Image(),
		docker.Network(),
		docker.Volume(),
	}
}
