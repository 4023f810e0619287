//go:build !small || !noredhat

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/rpm"
	"github.com/brineproject/brine/modules/yumpkg"
)

// redhat returns the package managers of Red Hat.
func (full) redhat() []loader.Plugin {
	return []loader.Plugin{
		rpm.Plugin(),
		yumpkg.Plugin(),
	}
}
