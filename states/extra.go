//go:build !small

package states

import (
	_ "embed"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/acl"
	"github.com/brineproject/brine/states/alias"
	"github.com/brineproject/brine/states/alternatives"
	"github.com/brineproject/brine/states/apache"
	"github.com/brineproject/brine/states/archive"
	"github.com/brineproject/brine/states/at"
	"github.com/brineproject/brine/states/augeas"
	"github.com/brineproject/brine/states/blockdev"
	"github.com/brineproject/brine/states/composer"
	"github.com/brineproject/brine/states/disk"
	"github.com/brineproject/brine/states/docker"
	"github.com/brineproject/brine/states/elasticsearch"
	"github.com/brineproject/brine/states/firewalld"
	"github.com/brineproject/brine/states/gem"
	"github.com/brineproject/brine/states/git"
	"github.com/brineproject/brine/states/glusterfs"
	"github.com/brineproject/brine/states/gpg"
	"github.com/brineproject/brine/states/grafana4"
	"github.com/brineproject/brine/states/helm"
	"github.com/brineproject/brine/states/http"
	"github.com/brineproject/brine/states/incron"
	"github.com/brineproject/brine/states/influxdb"
	"github.com/brineproject/brine/states/ipset"
	"github.com/brineproject/brine/states/kernelpkg"
	"github.com/brineproject/brine/states/keyboard"
	"github.com/brineproject/brine/states/kubernetes"
	"github.com/brineproject/brine/states/logrotate"
	"github.com/brineproject/brine/states/lvm"
	"github.com/brineproject/brine/states/memcached"
	"github.com/brineproject/brine/states/mongodb"
	"github.com/brineproject/brine/states/mysql"
	"github.com/brineproject/brine/states/network"
	"github.com/brineproject/brine/states/nfsexport"
	"github.com/brineproject/brine/states/nftables"
	"github.com/brineproject/brine/states/npm"
	"github.com/brineproject/brine/states/pdbedit"
	"github.com/brineproject/brine/states/pecl"
	"github.com/brineproject/brine/states/pip"
	"github.com/brineproject/brine/states/postgres"
	"github.com/brineproject/brine/states/pyenv"
	"github.com/brineproject/brine/states/quota"
	"github.com/brineproject/brine/states/rabbitmq"
	"github.com/brineproject/brine/states/raid"
	"github.com/brineproject/brine/states/rbenv"
	"github.com/brineproject/brine/states/redis"
	"github.com/brineproject/brine/states/reg"
	"github.com/brineproject/brine/states/rvm"
	"github.com/brineproject/brine/states/selinux"
	"github.com/brineproject/brine/states/slack"
	"github.com/brineproject/brine/states/smtp"
	"github.com/brineproject/brine/states/status"
	"github.com/brineproject/brine/states/supervisord"
	"github.com/brineproject/brine/states/sysfs"
	"github.com/brineproject/brine/states/tls"
	"github.com/brineproject/brine/states/tuned"
	"github.com/brineproject/brine/states/vault"
	"github.com/brineproject/brine/states/virt"
	"github.com/brineproject/brine/states/virtualenv"
	"github.com/brineproject/brine/states/webutil"
	"github.com/brineproject/brine/states/winpath"
	"github.com/brineproject/brine/states/x509"
	"github.com/brineproject/brine/states/x509v2"
)

//go:generate go run github.com/brineproject/brine/internal/docgen extra.go

// extraDocs is the documentation of the functions in the plug-ins below.
//
//go:embed extra.txt.gz
var extraDocs string

// extra returns the states of a full build. A small build lacks these states and their modules.
func extra() []loader.Plugin {
	return loader.NewDocs(extraDocs).Document([]loader.Plugin{
		acl.Plugin(),
		alias.Plugin(),
		alternatives.Plugin(),
		apache.Conf(),
		apache.Module(),
		apache.Plugin(),
		apache.Site(),
		archive.Plugin(),
		at.Plugin(),
		augeas.Plugin(),
		blockdev.Plugin(),
		composer.Plugin(),
		disk.Plugin(),
		docker.Container(),
		docker.Image(),
		docker.Network(),
		docker.Volume(),
		elasticsearch.Index(),
		elasticsearch.IndexTemplate(),
		elasticsearch.Plugin(),
		firewalld.Plugin(),
		gem.Plugin(),
		git.Plugin(),
		glusterfs.Plugin(),
		gpg.Plugin(),
		grafana4.Dashboard(),
		grafana4.Datasource(),
		grafana4.Org(),
		grafana4.User(),
		helm.Plugin(),
		http.Plugin(),
		incron.Plugin(),
		influxdb.ContinuousQuery(),
		influxdb.Database(),
		influxdb.RetentionPolicy(),
		influxdb.User(),
		ipset.Plugin(),
		kernelpkg.Plugin(),
		keyboard.Plugin(),
		kubernetes.Plugin(),
		logrotate.Plugin(),
		lvm.Plugin(),
		memcached.Plugin(),
		mongodb.Database(),
		mongodb.User(),
		mysql.Database(),
		mysql.Grants(),
		mysql.Query(),
		mysql.User(),
		nfsexport.Plugin(),
		nftables.Plugin(),
		network.Plugin(),
		npm.Plugin(),
		pdbedit.Plugin(),
		pecl.Plugin(),
		pip.Plugin(),
		postgres.Cluster(),
		postgres.Database(),
		postgres.Extension(),
		postgres.Group(),
		postgres.Initdb(),
		postgres.Language(),
		postgres.Privileges(),
		postgres.Schema(),
		postgres.Tablespace(),
		postgres.User(),
		pyenv.Plugin(),
		quota.Plugin(),
		rabbitmq.Cluster(),
		rabbitmq.Extension(),
		rabbitmq.Policy(),
		rabbitmq.Upstream(),
		rabbitmq.User(),
		rabbitmq.Vhost(),
		raid.Plugin(),
		rbenv.Plugin(),
		redis.Plugin(),
		reg.Plugin(),
		rvm.Plugin(),
		selinux.Plugin(),
		status.Plugin(),
		slack.Plugin(),
		smtp.Plugin(),
		supervisord.Plugin(),
		sysfs.Plugin(),
		tls.Plugin(),
		tuned.Plugin(),
		vault.Plugin(),
		virt.Plugin(),
		virtualenv.Plugin(),
		webutil.Plugin(),
		winpath.Plugin(),
		x509.Plugin(),
		x509v2.Plugin(),
	})
}
