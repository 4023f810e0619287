//go:build !small || security

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/acl"
	"github.com/brineproject/brine/modules/gpg"
	"github.com/brineproject/brine/modules/selinux"
)

// security returns the modules for access rights and keys.
func (full) security() []loader.Plugin {
	return []loader.Plugin{
		acl.Plugin(),
		gpg.Plugin(),
		selinux.Plugin(),
	}
}
