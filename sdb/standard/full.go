//go:build !small

package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/sdb/cache"
	"github.com/brineproject/brine/sdb/consul"
	"github.com/brineproject/brine/sdb/etcd"
	"github.com/brineproject/brine/sdb/keyring"
	"github.com/brineproject/brine/sdb/redis"
	"github.com/brineproject/brine/sdb/rest"
	"github.com/brineproject/brine/sdb/tism"
	"github.com/brineproject/brine/sdb/vault"
)

// Plugins returns the drivers.
func Plugins() []loader.Plugin {
	return []loader.Plugin{cache.Plugin(), consul.Plugin(), etcd.Plugin(), keyring.Plugin(),
		redis.Plugin(), rest.Plugin(), tism.Plugin(), vault.Plugin()}
}
