//go:build !small || !noini

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/ini"
)

// ini returns the states for INI files.
func (full) ini() []loader.Plugin {
	return []loader.Plugin{
		ini.Plugin(),
	}
}
