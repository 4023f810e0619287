//go:build !small || extra

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/alias"
	"github.com/brineproject/brine/states/archive"
	"github.com/brineproject/brine/states/at"
	"github.com/brineproject/brine/states/git"
	"github.com/brineproject/brine/states/supervisord"
)

//go:generate go run github.com/brineproject/brine/internal/docgen extra.go

// extra returns the states that belong to no other group.
func (full) extra() []loader.Plugin {
	return []loader.Plugin{
		alias.Plugin(),
		archive.Plugin(),
		at.Plugin(),
		git.Plugin(),
		supervisord.Plugin(),
	}
}
