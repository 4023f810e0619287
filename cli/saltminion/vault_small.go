//go:build small && !vault

package saltminion

import "github.com/brineproject/brine/data"

// checkVault returns nil: a small build has nothing that uses the option vault.
func checkVault(*data.Map) error { return nil }
