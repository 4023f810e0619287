//go:build small

package all

import "github.com/brineproject/brine/loader"

func extra() []loader.Plugin { return nil }
