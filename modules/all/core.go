package all

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/cp"
	"github.com/brineproject/brine/modules/grains"
	"github.com/brineproject/brine/modules/saltutil"
	"github.com/brineproject/brine/modules/schedule"
	"github.com/brineproject/brine/modules/sys"
	"github.com/brineproject/brine/modules/test"
)

// core are the modules of every build.
func core() []loader.Plugin {
	return []loader.Plugin{
		cmd.Plugin(),
		config.Plugin(),
		cp.Plugin(brought()),
		grains.Plugin(),
		saltutil.Plugin(),
		schedule.Plugin(),
		sys.Plugin(),
		test.Plugin(),
	}
}
