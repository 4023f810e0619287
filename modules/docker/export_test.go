package docker

import (
	"time"

	"github.com/brineproject/brine/loader"
)

// PluginWithin returns the module with other limits on the silence of an engine.
func PluginWithin(transfer, work time.Duration) loader.Plugin { return plugin(limits{transfer, work}) }
