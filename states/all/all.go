// Package all lists the states that a program is built with.
package all

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/alternatives"
	"github.com/brineproject/brine/states/archive"
	"github.com/brineproject/brine/states/cmd"
	"github.com/brineproject/brine/states/cron"
	"github.com/brineproject/brine/states/debconf"
	"github.com/brineproject/brine/states/environ"
	"github.com/brineproject/brine/states/event"
	"github.com/brineproject/brine/states/file"
	"github.com/brineproject/brine/states/git"
	"github.com/brineproject/brine/states/grains"
	"github.com/brineproject/brine/states/group"
	"github.com/brineproject/brine/states/host"
	"github.com/brineproject/brine/states/ini"
	"github.com/brineproject/brine/states/iptables"
	"github.com/brineproject/brine/states/kmod"
	"github.com/brineproject/brine/states/locale"
	"github.com/brineproject/brine/states/module"
	"github.com/brineproject/brine/states/mount"
	"github.com/brineproject/brine/states/mysqldatabase"
	"github.com/brineproject/brine/states/mysqlgrants"
	"github.com/brineproject/brine/states/mysqluser"
	"github.com/brineproject/brine/states/pip"
	"github.com/brineproject/brine/states/pkg"
	"github.com/brineproject/brine/states/pkgrepo"
	"github.com/brineproject/brine/states/postgresdatabase"
	"github.com/brineproject/brine/states/postgresextension"
	"github.com/brineproject/brine/states/postgresgroup"
	"github.com/brineproject/brine/states/postgresprivileges"
	"github.com/brineproject/brine/states/postgresuser"
	"github.com/brineproject/brine/states/salt"
	"github.com/brineproject/brine/states/schedule"
	"github.com/brineproject/brine/states/service"
	"github.com/brineproject/brine/states/stateconf"
	"github.com/brineproject/brine/states/sysctl"
	"github.com/brineproject/brine/states/test"
	"github.com/brineproject/brine/states/timezone"
	"github.com/brineproject/brine/states/user"
	"github.com/brineproject/brine/states/virtualenv"
)

// Plugins returns the states, in the order in which providers of one name are tried.
func Plugins() []loader.Plugin {
	return []loader.Plugin{
		alternatives.Plugin(),
		archive.Plugin(),
		cmd.Plugin(),
		cron.Plugin(),
		debconf.Plugin(),
		environ.Plugin(),
		event.Plugin(),
		file.Plugin(),
		git.Plugin(),
		grains.Plugin(),
		group.Plugin(),
		host.Plugin(),
		ini.Plugin(),
		iptables.Plugin(),
		kmod.Plugin(),
		locale.Plugin(),
		module.Plugin(),
		mount.Plugin(),
		mysqldatabase.Plugin(),
		mysqlgrants.Plugin(),
		mysqluser.Plugin(),
		pip.Plugin(),
		pkg.Plugin(),
		pkgrepo.Plugin(),
		postgresdatabase.Plugin(),
		postgresextension.Plugin(),
		postgresgroup.Plugin(),
		postgresprivileges.Plugin(),
		postgresuser.Plugin(),
		salt.Plugin(),
		schedule.Plugin(),
		service.Plugin(),
		stateconf.Plugin(),
		sysctl.Plugin(),
		test.Plugin(),
		timezone.Plugin(),
		user.Plugin(),
		virtualenv.Plugin(),
	}
}
