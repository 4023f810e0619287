package docker

import (
	"time"

	"github.com/brineproject/brine/loader"
)

// PluginWithin returns the module with other limits on the silence of an engine.
func PluginWithin(transfer, work time.Duration) loader.Plugin {
	p := Plugin()
	p.New = limits{transfer, work}.newModule
	return p
}
