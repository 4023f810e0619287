//go:build small && !databases

package standard

import "github.com/brineproject/brine/loader"

func databaseDrivers() []loader.Plugin { return nil }
