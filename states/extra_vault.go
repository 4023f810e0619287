//go:build !small || vault

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/vault"
)

// vault returns the states for HashiCorp Vault.
func (full) vault() []loader.Plugin {
	return []loader.Plugin{
		vault.Plugin(),
	}
}
