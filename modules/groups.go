package modules

import (
	"slices"

	"github.com/brineproject/brine/loader"
)

// groups lists the modules that a small build leaves out, by the build tag that brings them back. A
// module that works through several plug-ins of one name, such as pkg, is not listed if every build
// has one of them.
func groups() []loader.Group {
	return []loader.Group{
		{Tag: "database", Plugins: "mysql postgres rabbitmq"},
		{Tag: "extra", Plugins: "aliases archive at environ git hashutil random supervisord temp"},
		{Tag: "languages", Plugins: "gem npm pip virtualenv"},
		{Tag: "monitor", Plugins: "network ps status"},
		{Tag: "packages", Plugins: "alternatives"},
		{Tag: "security", Plugins: "firewalld gpg iptables selinux x509"},
		{Tag: "storage", Plugins: "disk lvm"},
		{Tag: "web", Plugins: "dnsutil http webutil"},
	}
}

// left has a method for each group. In a small build it returns plug-ins that name the group's build
// tag. The file extra_GROUP.go, which the tag selects, hides the method by one of full.
type left struct{}

func (left) database() []loader.Plugin  { return loader.LeftOut("database", groups()) }
func (left) extra() []loader.Plugin     { return loader.LeftOut("extra", groups()) }
func (left) languages() []loader.Plugin { return loader.LeftOut("languages", groups()) }
func (left) monitor() []loader.Plugin   { return loader.LeftOut("monitor", groups()) }
func (left) packages() []loader.Plugin  { return loader.LeftOut("packages", groups()) }
func (left) security() []loader.Plugin  { return loader.LeftOut("security", groups()) }
func (left) storage() []loader.Plugin   { return loader.LeftOut("storage", groups()) }
func (left) web() []loader.Plugin       { return loader.LeftOut("web", groups()) }

// full has the methods of the groups that this build has, and those of left for the others.
type full struct{ left }

// extra returns the modules of all groups.
func extra() []loader.Plugin {
	g := full{}
	return loader.NewDocs(extraDocs).Document(slices.Concat(
		g.database(),
		g.extra(),
		g.languages(),
		g.monitor(),
		g.packages(),
		g.security(),
		g.storage(),
		g.web(),
	))
}
