//go:build !small || monitoring

package standard

import (
	"github.com/brineproject/brine/beacons/aixaccount"
	"github.com/brineproject/brine/beacons/certinfo"
	"github.com/brineproject/brine/beacons/glxinfo"
	"github.com/brineproject/brine/beacons/haproxy"
	"github.com/brineproject/brine/beacons/journald"
	"github.com/brineproject/brine/beacons/load"
	"github.com/brineproject/brine/beacons/network"
	"github.com/brineproject/brine/beacons/ps"
	"github.com/brineproject/brine/beacons/sh"
	"github.com/brineproject/brine/beacons/status"
	"github.com/brineproject/brine/beacons/usage"
	"github.com/brineproject/brine/loader"
)

// extra returns the beacons that a small build leaves out.
func extra() []loader.Plugin {
	return []loader.Plugin{
		aixaccount.Plugin(),
		certinfo.Plugin(),
		glxinfo.Plugin(),
		haproxy.Plugin(),
		journald.Plugin(),
		load.Plugin(),
		network.Info(),
		network.Settings(),
		ps.Plugin(),
		sh.Plugin(),
		status.Plugin(),
		usage.Disk(),
		usage.Memory(),
		usage.Swap(),
	}
}
