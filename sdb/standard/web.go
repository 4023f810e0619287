//go:build !small || web

package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/sdb/consul"
	"github.com/brineproject/brine/sdb/etcd"
	"github.com/brineproject/brine/sdb/rest"
	"github.com/brineproject/brine/sdb/tism"
)

// webDrivers returns the drivers that speak HTTP.
func webDrivers() []loader.Plugin {
	return []loader.Plugin{consul.Plugin(), etcd.Plugin(), rest.Plugin(), tism.Plugin()}
}
