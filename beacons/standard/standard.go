// Package standard lists the beacons that a minion is built with. The build tag small leaves out
// those whose modules or libraries a small minion has not.
package standard

import (
	"slices"

	"github.com/brineproject/brine/beacons/inotify"
	"github.com/brineproject/brine/beacons/log"
	"github.com/brineproject/brine/beacons/pkg"
	"github.com/brineproject/brine/beacons/saltmonitor"
	"github.com/brineproject/brine/beacons/service"
	"github.com/brineproject/brine/beacons/utmp"
	"github.com/brineproject/brine/loader"
)

// Plugins returns the beacons.
func Plugins() []loader.Plugin {
	return slices.Concat([]loader.Plugin{
		inotify.Plugin(),
		inotify.Watchdog(),
		log.Plugin(),
		pkg.Plugin(),
		saltmonitor.Plugin(),
		service.Plugin(),
		utmp.Failed(),
		utmp.Logins(),
	}, extra())
}
