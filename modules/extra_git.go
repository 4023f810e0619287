//go:build !small || !nogit

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/git"
)

// git returns the module for Git.
func (full) git() []loader.Plugin {
	return []loader.Plugin{
		git.Plugin(),
	}
}
