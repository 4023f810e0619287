//go:build !small || !noalpine

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/apkpkg"
	"github.com/brineproject/brine/modules/gentooservice"
)

// alpine returns the package manager of Alpine and the services of OpenRC.
func (full) alpine() []loader.Plugin {
	return []loader.Plugin{
		apkpkg.Plugin(),
		gentooservice.Plugin(),
	}
}
