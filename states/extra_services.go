//go:build !small || services

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/alias"
	"github.com/brineproject/brine/states/at"
	"github.com/brineproject/brine/states/augeas"
	"github.com/brineproject/brine/states/environ"
	"github.com/brineproject/brine/states/incron"
	"github.com/brineproject/brine/states/logrotate"
	"github.com/brineproject/brine/states/loop"
	"github.com/brineproject/brine/states/pdbedit"
	"github.com/brineproject/brine/states/supervisord"
)

// services returns the states for daemons and small tools.
func (full) services() []loader.Plugin {
	return []loader.Plugin{
		alias.Plugin(),
		at.Plugin(),
		augeas.Plugin(),
		environ.Plugin(),
		incron.Plugin(),
		logrotate.Plugin(),
		loop.Plugin(),
		pdbedit.Plugin(),
		supervisord.Plugin(),
	}
}
