package all

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/cp"
	"github.com/brineproject/brine/modules/data"
	"github.com/brineproject/brine/modules/event"
	"github.com/brineproject/brine/modules/grains"
	"github.com/brineproject/brine/modules/match"
	"github.com/brineproject/brine/modules/mine"
	"github.com/brineproject/brine/modules/publish"
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
		data.Plugin(),
		event.Plugin(),
		grains.Plugin(),
		match.Plugin(),
		mine.Plugin(),
		publish.Plugin(),
		saltutil.Plugin(),
		schedule.Plugin(),
		sys.Plugin(),
		test.Plugin(),
	}
}
