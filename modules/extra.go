//go:build !small || extra

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/aliases"
	"github.com/brineproject/brine/modules/archive"
	"github.com/brineproject/brine/modules/at"
	"github.com/brineproject/brine/modules/environ"
	"github.com/brineproject/brine/modules/git"
	"github.com/brineproject/brine/modules/hashutil"
	"github.com/brineproject/brine/modules/random"
	"github.com/brineproject/brine/modules/supervisord"
	"github.com/brineproject/brine/modules/temp"
)

//go:generate go run github.com/brineproject/brine/internal/docgen extra.go

// extra returns the modules that belong to no other group.
func (full) extra() []loader.Plugin {
	return []loader.Plugin{
		aliases.Plugin(),
		archive.Plugin(),
		at.Plugin(),
		environ.Plugin(),
		git.Plugin(),
		hashutil.Plugin(),
		random.Plugin(),
		supervisord.Plugin(),
		temp.Plugin(),
	}
}
