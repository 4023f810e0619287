//go:build !small || vault

package saltminion

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/vault"
)

// checkVault returns the findings about the option vault.
func checkVault(opts *data.Map) error { return vault.Check(opts) }
