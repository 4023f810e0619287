// Package standard lists the returners of a minion. The build tag small leaves out those that need
// a driver.
package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners/local"
	"github.com/brineproject/brine/returners/rawfilejson"
	"github.com/brineproject/brine/returners/syslog"
)

// Plugins returns the returners.
func Plugins() []loader.Plugin {
	core := []loader.Plugin{local.Plugin(), rawfilejson.Plugin(), syslog.Plugin()}
	return append(core, extra()...)
}
