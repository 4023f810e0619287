// Package standard lists the external pillars of a master: those of package pillar, and those that
// use databases and servers.
package standard

import (
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/sources/cobbler"
	"github.com/brineproject/brine/pillar/sources/consul"
	"github.com/brineproject/brine/pillar/sources/etcd"
	"github.com/brineproject/brine/pillar/sources/foreman"
	"github.com/brineproject/brine/pillar/sources/git"
	"github.com/brineproject/brine/pillar/sources/httpjson"
	"github.com/brineproject/brine/pillar/sources/ldap"
	"github.com/brineproject/brine/pillar/sources/libvirt"
	"github.com/brineproject/brine/pillar/sources/mysql"
	"github.com/brineproject/brine/pillar/sources/netbox"
	"github.com/brineproject/brine/pillar/sources/postgres"
	"github.com/brineproject/brine/pillar/sources/reclass"
	"github.com/brineproject/brine/pillar/sources/redismod"
	"github.com/brineproject/brine/pillar/sources/s3"
	"github.com/brineproject/brine/pillar/sources/saltclass"
	"github.com/brineproject/brine/pillar/sources/sqlite3"
	"github.com/brineproject/brine/pillar/sources/varstack"
	"github.com/brineproject/brine/pillar/sources/vault"
)

// Sources returns a new list of all external pillars. A program makes one list and shares it,
// because sources hold connection limits, tokens and clones.
func Sources() []pillar.Source {
	return append(pillar.Sources(), cobbler.Source{}, consul.New(), etcd.New(), foreman.Source{},
		git.New(), httpjson.JSON(), httpjson.YAML(), ldap.New(), libvirt.New(), mysql.New(), netbox.New(),
		postgres.New(), reclass.New(), redismod.New(), s3.New(), saltclass.Source{}, sqlite3.New(),
		varstack.New(), vault.New())
}
