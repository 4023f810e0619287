package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/beacons"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/cp"
	"github.com/brineproject/brine/modules/cron"
	"github.com/brineproject/brine/modules/data"
	"github.com/brineproject/brine/modules/defaults"
	"github.com/brineproject/brine/modules/event"
	"github.com/brineproject/brine/modules/file"
	"github.com/brineproject/brine/modules/grains"
	"github.com/brineproject/brine/modules/group"
	"github.com/brineproject/brine/modules/hosts"
	"github.com/brineproject/brine/modules/jinja"
	"github.com/brineproject/brine/modules/key"
	"github.com/brineproject/brine/modules/linuxservice"
	"github.com/brineproject/brine/modules/locale"
	"github.com/brineproject/brine/modules/log"
	"github.com/brineproject/brine/modules/match"
	"github.com/brineproject/brine/modules/mine"
	"github.com/brineproject/brine/modules/mount"
	"github.com/brineproject/brine/modules/network"
	"github.com/brineproject/brine/modules/pillar"
	"github.com/brineproject/brine/modules/pkgresource"
	"github.com/brineproject/brine/modules/publish"
	"github.com/brineproject/brine/modules/ret"
	"github.com/brineproject/brine/modules/rhservice"
	"github.com/brineproject/brine/modules/saltutil"
	"github.com/brineproject/brine/modules/schedule"
	"github.com/brineproject/brine/modules/sdb"
	"github.com/brineproject/brine/modules/shadow"
	"github.com/brineproject/brine/modules/slsutil"
	"github.com/brineproject/brine/modules/ssh"
	"github.com/brineproject/brine/modules/state"
	"github.com/brineproject/brine/modules/status"
	"github.com/brineproject/brine/modules/sys"
	"github.com/brineproject/brine/modules/sysctl"
	"github.com/brineproject/brine/modules/system"
	"github.com/brineproject/brine/modules/systemdservice"
	"github.com/brineproject/brine/modules/test"
	"github.com/brineproject/brine/modules/timezone"
	"github.com/brineproject/brine/modules/user"
	"github.com/brineproject/brine/render"
)

//go:generate go run github.com/brineproject/brine/internal/docgen core.go

// core returns the modules of every build.
func core(b render.Brought) []loader.Plugin {
	return loader.NewDocs(coreDocs).Document([]loader.Plugin{
		beacons.Plugin(),
		cmd.Plugin(b),
		config.Plugin(),
		cp.Plugin(b),
		cron.Plugin(),
		data.Plugin(),
		defaults.Plugin(),
		event.Plugin(),
		file.Plugin(b),
		grains.Plugin(),
		group.Plugin(),
		hosts.Plugin(),
		jinja.Plugin(b),
		key.Plugin(),
		linuxservice.Plugin(),
		locale.Plugin(),
		log.Plugin(),
		match.Plugin(),
		mine.Plugin(),
		mount.Plugin(),
		network.Plugin(),
		pillar.Plugin(b),
		pkgresource.Plugin(),
		publish.Plugin(),
		ret.Plugin(),
		rhservice.Plugin(),
		saltutil.Plugin(),
		schedule.Plugin(),
		sdb.Plugin(b),
		shadow.Plugin(),
		slsutil.Plugin(b),
		ssh.Plugin(),
		state.Plugin(b),
		status.Plugin(),
		sys.Plugin(names(b.Renderers)...),
		sysctl.Plugin(),
		system.Plugin(),
		systemdservice.Plugin(),
		test.Plugin(),
		timezone.Plugin(),
		user.Plugin(),
	})
}

// names returns the names of renderers as templates use them.
func names(renderers []render.Renderer) []string {
	list := make([]string, len(renderers))
	for i, r := range renderers {
		list[i] = r.Name()
	}
	return list
}
