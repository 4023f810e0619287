package modules

import "github.com/brineproject/brine/loader"

//go:generate go run github.com/brineproject/brine/internal/docgen extra.go

// Groups returns the groups of modules that a small build leaves out unless it has their build tag, and
// those that it has unless its tags contain no and the name of the group. Names that every build
// provides, such as pkg, are not listed.
func Groups() []loader.Group {
	var g full
	return []loader.Group{
		{Tag: "alpine", Names: "", Kept: true, Plugins: g.alpine()},
		{Tag: "archive", Names: "archive", Kept: true, Plugins: g.archive()},
		{Tag: "archlinux", Names: "", Kept: true, Plugins: g.archlinux()},
		{Tag: "databases", Names: "mysql postgres rabbitmq", Plugins: g.databases()},
		{Tag: "debian", Names: "debconf", Kept: true, Plugins: g.debian()},
		{Tag: "distro", Names: "alternatives ip kernelpkg", Plugins: g.distro()},
		{Tag: "docker", Names: "docker dockercompose dockerng moby swarm", Plugins: g.docker()},
		{Tag: "firewall", Names: "firewalld ipset iptables nftables", Plugins: g.firewall()},
		{Tag: "git", Names: "git", Kept: true, Plugins: g.git()},
		{Tag: "hardware", Names: "disk glusterfs keyboard kmod lvm nfs3 partition quota raid sysfs tuned udev xfs",
			Plugins: g.hardware()},
		{Tag: "ini", Names: "ini", Kept: true, Plugins: g.ini()},
		{Tag: "languages", Names: "composer django gem npm pecl pip pyenv rbenv rvm virtualenv",
			Plugins: g.languages()},
		{Tag: "monitoring", Names: "ps", Plugins: g.monitoring()},
		{Tag: "redhat", Names: "", Kept: true, Plugins: g.redhat()},
		{Tag: "security", Names: "acl gpg selinux", Plugins: g.security()},
		{Tag: "services", Names: "aliases at augeas environ hashutil incron logrotate pdbedit random supervisord " +
			"temp",
			Plugins: g.services()},
		{Tag: "vault", Names: "vault", Plugins: g.vault()},
		{Tag: "web", Names: "apache dig dnsutil http nginx slack smtp webutil", Plugins: g.web()},
		{Tag: "x509", Names: "tls x509", Plugins: g.x509()},
	}
}

// left has a method for each group, which returns nothing. The file extra_GROUP.go, which the
// group's build tag selects, hides the method by one of full.
type left struct{}

func (left) alpine() []loader.Plugin     { return nil }
func (left) archive() []loader.Plugin    { return nil }
func (left) archlinux() []loader.Plugin  { return nil }
func (left) databases() []loader.Plugin  { return nil }
func (left) debian() []loader.Plugin     { return nil }
func (left) distro() []loader.Plugin     { return nil }
func (left) docker() []loader.Plugin     { return nil }
func (left) firewall() []loader.Plugin   { return nil }
func (left) git() []loader.Plugin        { return nil }
func (left) hardware() []loader.Plugin   { return nil }
func (left) ini() []loader.Plugin        { return nil }
func (left) languages() []loader.Plugin  { return nil }
func (left) monitoring() []loader.Plugin { return nil }
func (left) redhat() []loader.Plugin     { return nil }
func (left) security() []loader.Plugin   { return nil }
func (left) services() []loader.Plugin   { return nil }
func (left) vault() []loader.Plugin      { return nil }
func (left) web() []loader.Plugin        { return nil }
func (left) x509() []loader.Plugin       { return nil }

// full has the methods of the groups that this build has, and those of left for the others.
type full struct{ left }

// extra returns the modules of the groups that this build has.
func extra() []loader.Plugin {
	var list []loader.Plugin
	for _, g := range Groups() {
		list = append(list, g.Plugins...)
	}
	return loader.NewDocs(extraDocs).Document(list)
}
