//go:build !small || vault

package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/sdb/vault"
)

// vaultDrivers returns the driver of HashiCorp Vault.
func vaultDrivers() []loader.Plugin {
	return []loader.Plugin{vault.Plugin()}
}
