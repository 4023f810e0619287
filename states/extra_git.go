//go:build !small || !nogit

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/git"
)

// git returns the states for Git.
func (full) git() []loader.Plugin {
	return []loader.Plugin{
		git.Plugin(),
	}
}
