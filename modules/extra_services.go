//go:build !small || services

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/aliases"
	"github.com/brineproject/brine/modules/at"
	"github.com/brineproject/brine/modules/augeas"
	"github.com/brineproject/brine/modules/environ"
	"github.com/brineproject/brine/modules/hashutil"
	"github.com/brineproject/brine/modules/incron"
	"github.com/brineproject/brine/modules/logrotate"
	"github.com/brineproject/brine/modules/pdbedit"
	"github.com/brineproject/brine/modules/random"
	"github.com/brineproject/brine/modules/supervisord"
	"github.com/brineproject/brine/modules/temp"
)

// services returns the modules for daemons and small tools.
func (full) services() []loader.Plugin {
	return []loader.Plugin{
		aliases.Plugin(),
		at.Plugin(),
		augeas.Plugin(),
		environ.Plugin(),
		hashutil.Plugin(),
		incron.Plugin(),
		logrotate.Plugin(),
		pdbedit.Plugin(),
		random.Plugin(),
		supervisord.Plugin(),
		temp.Plugin(),
	}
}
