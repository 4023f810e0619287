//go:build !small || security

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/acl"
	"github.com/brineproject/brine/states/gpg"
	"github.com/brineproject/brine/states/selinux"
)

// security returns the states for access rights and keys.
func (full) security() []loader.Plugin {
	return []loader.Plugin{
		acl.Plugin(),
		gpg.Plugin(),
		selinux.Plugin(),
	}
}
