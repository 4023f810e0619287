//go:build !small || !noini

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/ini"
)

// ini returns the module for INI files.
func (full) ini() []loader.Plugin {
	return []loader.Plugin{
		ini.Plugin(),
	}
}
