//go:build small && !monitoring

package standard

import "github.com/brineproject/brine/loader"

// extra returns the beacons that a small build leaves out.
func extra() []loader.Plugin { return nil }
