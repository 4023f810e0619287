//go:build small && !web

package standard

import "github.com/brineproject/brine/loader"

func webDrivers() []loader.Plugin { return nil }
