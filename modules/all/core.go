package all

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/aptsources"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/cp"
	"github.com/brineproject/brine/modules/data"
	"github.com/brineproject/brine/modules/debianservice"
	"github.com/brineproject/brine/modules/defaults"
	"github.com/brineproject/brine/modules/event"
	"github.com/brineproject/brine/modules/file"
	"github.com/brineproject/brine/modules/gentooservice"
	"github.com/brineproject/brine/modules/grains"
	"github.com/brineproject/brine/modules/group"
	"github.com/brineproject/brine/modules/ini"
	"github.com/brineproject/brine/modules/jinja"
	"github.com/brineproject/brine/modules/kmod"
	"github.com/brineproject/brine/modules/linuxservice"
	"github.com/brineproject/brine/modules/log"
	"github.com/brineproject/brine/modules/match"
	"github.com/brineproject/brine/modules/mine"
	"github.com/brineproject/brine/modules/pillar"
	"github.com/brineproject/brine/modules/publish"
	"github.com/brineproject/brine/modules/rhservice"
	"github.com/brineproject/brine/modules/saltutil"
	"github.com/brineproject/brine/modules/schedule"
	"github.com/brineproject/brine/modules/sdb"
	"github.com/brineproject/brine/modules/shadow"
	"github.com/brineproject/brine/modules/slsutil"
	"github.com/brineproject/brine/modules/state"
	"github.com/brineproject/brine/modules/sys"
	"github.com/brineproject/brine/modules/sysctl"
	"github.com/brineproject/brine/modules/systemdservice"
	"github.com/brineproject/brine/modules/test"
	"github.com/brineproject/brine/modules/user"
	"github.com/brineproject/brine/render"
)

// core are the modules of every build.
func core(b render.Brought) []loader.Plugin {
	return []loader.Plugin{
		aptsources.Plugin(),
		cmd.Plugin(b),
		config.Plugin(),
		cp.Plugin(b),
		data.Plugin(),
		debianservice.Plugin(),
		defaults.Plugin(),
		event.Plugin(),
		file.Plugin(b),
		gentooservice.Plugin(),
		grains.Plugin(),
		group.Plugin(),
		ini.Plugin(),
		jinja.Plugin(b),
		kmod.Plugin(),
		linuxservice.Plugin(),
		log.Plugin(),
		match.Plugin(),
		mine.Plugin(),
		pillar.Plugin(b),
		publish.Plugin(),
		rhservice.Plugin(),
		saltutil.Plugin(),
		schedule.Plugin(),
		sdb.Plugin(b),
		shadow.Plugin(),
		slsutil.Plugin(b),
		state.Plugin(b),
		sys.Plugin(),
		sysctl.Plugin(),
		systemdservice.Plugin(),
		test.Plugin(),
		user.Plugin(),
	}
}
