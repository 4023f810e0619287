// Package states lists the states that a program is built with. The build tag small leaves out
// groups of states that a small device may not need; a further tag for each group brings it back.
package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/beacon"
	"github.com/brineproject/brine/states/cmd"
	"github.com/brineproject/brine/states/cron"
	"github.com/brineproject/brine/states/event"
	"github.com/brineproject/brine/states/file"
	"github.com/brineproject/brine/states/grains"
	"github.com/brineproject/brine/states/group"
	"github.com/brineproject/brine/states/host"
	"github.com/brineproject/brine/states/locale"
	"github.com/brineproject/brine/states/module"
	"github.com/brineproject/brine/states/mount"
	"github.com/brineproject/brine/states/pkg"
	"github.com/brineproject/brine/states/pkgrepo"
	"github.com/brineproject/brine/states/process"
	"github.com/brineproject/brine/states/saltutil"
	"github.com/brineproject/brine/states/schedule"
	"github.com/brineproject/brine/states/service"
	"github.com/brineproject/brine/states/ssh"
	"github.com/brineproject/brine/states/stateconf"
	"github.com/brineproject/brine/states/status"
	"github.com/brineproject/brine/states/sysctl"
	"github.com/brineproject/brine/states/test"
	"github.com/brineproject/brine/states/timezone"
	"github.com/brineproject/brine/states/user"
)

//go:generate go run github.com/brineproject/brine/internal/docgen all.go

// Plugins returns the states, in the order in which providers of the same name are tried.
func Plugins() []loader.Plugin { return append(core(), extra()...) }

// core returns the states that every minion has.
func core() []loader.Plugin {
	return loader.NewDocs(coreDocs).Document([]loader.Plugin{
		beacon.Plugin(),
		cmd.Plugin(),
		cron.Plugin(),
		event.Plugin(),
		file.Plugin(),
		grains.Plugin(),
		group.Plugin(),
		host.Plugin(),
		locale.Plugin(),
		module.Plugin(),
		mount.Plugin(),
		pkg.Plugin(),
		pkgrepo.Plugin(),
		process.Plugin(),
		saltutil.Plugin(),
		schedule.Plugin(),
		service.Plugin(),
		ssh.Auth(),
		ssh.KnownHosts(),
		stateconf.Plugin(),
		status.Plugin(),
		sysctl.Plugin(),
		test.Plugin(),
		timezone.Plugin(),
		user.Plugin(),
	})
}
