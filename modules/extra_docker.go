//go:build !small || docker

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/docker"
	"github.com/brineproject/brine/modules/dockercompose"
)

// docker returns the modules for containers.
func (full) docker() []loader.Plugin {
	return []loader.Plugin{
		docker.Plugin(),
		docker.Swarm(),
		dockercompose.Plugin(),
	}
}
