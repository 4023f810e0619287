//go:build !small

package modules

import (
	_ "embed"

	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileclient/stores"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/acl"
	"github.com/brineproject/brine/modules/aliases"
	"github.com/brineproject/brine/modules/alternatives"
	"github.com/brineproject/brine/modules/apache"
	"github.com/brineproject/brine/modules/archive"
	"github.com/brineproject/brine/modules/at"
	"github.com/brineproject/brine/modules/augeas"
	"github.com/brineproject/brine/modules/composer"
	"github.com/brineproject/brine/modules/debianip"
	"github.com/brineproject/brine/modules/dig"
	"github.com/brineproject/brine/modules/disk"
	"github.com/brineproject/brine/modules/django"
	"github.com/brineproject/brine/modules/dnsutil"
	"github.com/brineproject/brine/modules/docker"
	"github.com/brineproject/brine/modules/dockercompose"
	"github.com/brineproject/brine/modules/elasticsearch"
	"github.com/brineproject/brine/modules/environ"
	"github.com/brineproject/brine/modules/firewalld"
	"github.com/brineproject/brine/modules/gem"
	"github.com/brineproject/brine/modules/git"
	"github.com/brineproject/brine/modules/glusterfs"
	"github.com/brineproject/brine/modules/gpg"
	"github.com/brineproject/brine/modules/grafana4"
	"github.com/brineproject/brine/modules/haproxy"
	"github.com/brineproject/brine/modules/hashutil"
	"github.com/brineproject/brine/modules/helm"
	"github.com/brineproject/brine/modules/http"
	"github.com/brineproject/brine/modules/incron"
	"github.com/brineproject/brine/modules/influxdb"
	"github.com/brineproject/brine/modules/ipset"
	"github.com/brineproject/brine/modules/kernelpkg"
	"github.com/brineproject/brine/modules/keyboard"
	"github.com/brineproject/brine/modules/kubernetes"
	"github.com/brineproject/brine/modules/logrotate"
	"github.com/brineproject/brine/modules/lvm"
	"github.com/brineproject/brine/modules/memcached"
	"github.com/brineproject/brine/modules/mongodb"
	"github.com/brineproject/brine/modules/mysql"
	"github.com/brineproject/brine/modules/network"
	"github.com/brineproject/brine/modules/nfs3"
	"github.com/brineproject/brine/modules/nftables"
	"github.com/brineproject/brine/modules/nginx"
	"github.com/brineproject/brine/modules/npm"
	"github.com/brineproject/brine/modules/pacmanpkg"
	"github.com/brineproject/brine/modules/partition"
	"github.com/brineproject/brine/modules/pdbedit"
	"github.com/brineproject/brine/modules/pecl"
	"github.com/brineproject/brine/modules/pip"
	"github.com/brineproject/brine/modules/postgres"
	"github.com/brineproject/brine/modules/ps"
	"github.com/brineproject/brine/modules/pyenv"
	"github.com/brineproject/brine/modules/quota"
	"github.com/brineproject/brine/modules/rabbitmq"
	"github.com/brineproject/brine/modules/raid"
	"github.com/brineproject/brine/modules/random"
	"github.com/brineproject/brine/modules/rbenv"
	"github.com/brineproject/brine/modules/redis"
	"github.com/brineproject/brine/modules/reg"
	"github.com/brineproject/brine/modules/rhip"
	"github.com/brineproject/brine/modules/rpm"
	"github.com/brineproject/brine/modules/rvm"
	"github.com/brineproject/brine/modules/saltcheck"
	"github.com/brineproject/brine/modules/selinux"
	"github.com/brineproject/brine/modules/slack"
	"github.com/brineproject/brine/modules/smtp"
	"github.com/brineproject/brine/modules/status"
	"github.com/brineproject/brine/modules/supervisord"
	"github.com/brineproject/brine/modules/suseip"
	"github.com/brineproject/brine/modules/sysfs"
	"github.com/brineproject/brine/modules/temp"
	"github.com/brineproject/brine/modules/tls"
	"github.com/brineproject/brine/modules/tuned"
	"github.com/brineproject/brine/modules/udev"
	"github.com/brineproject/brine/modules/vault"
	"github.com/brineproject/brine/modules/virtualenv"
	"github.com/brineproject/brine/modules/webutil"
	"github.com/brineproject/brine/modules/winpath"
	"github.com/brineproject/brine/modules/winservice"
	"github.com/brineproject/brine/modules/x509"
	"github.com/brineproject/brine/modules/x509v2"
	"github.com/brineproject/brine/modules/xfs"
	"github.com/brineproject/brine/modules/yumpkg"
	"github.com/brineproject/brine/modules/zypperpkg"
	"github.com/brineproject/brine/render"
)

//go:generate go run github.com/brineproject/brine/internal/docgen extra.go

// extraDocs documents the functions of the plug-ins below.
//
//go:embed extra.txt.gz
var extraDocs string

// extra returns the modules that a small build leaves out.
func extra(render.Brought) []loader.Plugin {
	return loader.NewDocs(extraDocs).Document([]loader.Plugin{
		acl.Plugin(),
		aliases.Plugin(),
		alternatives.Plugin(),
		apache.Plugin(),
		archive.Plugin(),
		at.Plugin(),
		augeas.Plugin(),
		composer.Plugin(),
		debianip.Plugin(),
		dig.Plugin(),
		disk.Plugin(),
		dnsutil.Plugin(),
		django.Plugin(),
		docker.Plugin(),
		docker.Swarm(),
		dockercompose.Plugin(),
		elasticsearch.Plugin(),
		environ.Plugin(),
		firewalld.Plugin(),
		gem.Plugin(),
		git.Plugin(),
		glusterfs.Plugin(),
		gpg.Plugin(),
		grafana4.Plugin(),
		haproxy.Plugin(),
		hashutil.Plugin(),
		helm.Plugin(),
		http.Plugin(),
		incron.Plugin(),
		influxdb.Plugin(),
		ipset.Plugin(),
		kernelpkg.Apt(),
		kernelpkg.Yum(),
		keyboard.Plugin(),
		kubernetes.Plugin(),
		logrotate.Plugin(),
		lvm.Plugin(),
		memcached.Plugin(),
		mongodb.Plugin(),
		mysql.Plugin(),
		network.Plugin(),
		nfs3.Plugin(),
		nftables.Plugin(),
		nginx.Plugin(),
		npm.Plugin(),
		pacmanpkg.Plugin(),
		partition.Plugin(),
		pdbedit.Plugin(),
		pecl.Plugin(),
		pip.Plugin(),
		postgres.Plugin(),
		postgres.Clusters(),
		ps.Plugin(),
		pyenv.Plugin(),
		quota.Plugin(),
		rabbitmq.Plugin(),
		raid.Plugin(),
		random.Plugin(),
		rbenv.Plugin(),
		redis.Plugin(),
		reg.Plugin(),
		rhip.Plugin(),
		rpm.Plugin(),
		rvm.Plugin(),
		saltcheck.Plugin(),
		selinux.Plugin(),
		slack.Plugin(),
		smtp.Plugin(),
		status.Plugin(),
		suseip.Plugin(),
		supervisord.Plugin(),
		sysfs.Plugin(),
		temp.Plugin(),
		tls.Plugin(),
		tuned.Plugin(),
		udev.Plugin(),
		vault.Plugin(),
		virtualenv.Plugin(),
		webutil.Plugin(),
		winpath.Plugin(),
		winservice.Plugin(),
		x509.Plugin(),
		x509v2.Plugin(),
		xfs.Plugin(),
		yumpkg.Plugin(),
		zypperpkg.Plugin(),
	})
}

// files returns what the file client has in addition to the master's protocol. In a small build it
// has nothing more.
func files() fileclient.Brought {
	return fileclient.Brought{Fetchers: web.Fetchers, Stores: stores.Fetchers,
		Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}
}
