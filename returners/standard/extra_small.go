//go:build small && !returners

package standard

import "github.com/brineproject/brine/loader"

func extra() []loader.Plugin { return nil }
