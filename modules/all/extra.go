//go:build !small

package all

import "github.com/brineproject/brine/loader"

// extra are the modules that a small build leaves out.
func extra() []loader.Plugin { return nil }
