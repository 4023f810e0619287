//go:build !small || vault

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/vault"
)

// vault returns the module for HashiCorp Vault.
func (full) vault() []loader.Plugin {
	return []loader.Plugin{
		vault.Plugin(),
	}
}
