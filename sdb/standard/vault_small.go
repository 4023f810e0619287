//go:build small && !vault

package standard

import "github.com/brineproject/brine/loader"

func vaultDrivers() []loader.Plugin { return nil }
