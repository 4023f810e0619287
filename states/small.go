//go:build small

package states

import "github.com/brineproject/brine/loader"

func extra() []loader.Plugin { return nil }
