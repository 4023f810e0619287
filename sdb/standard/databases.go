//go:build !small || databases

package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/sdb/redis"
)

// databaseDrivers returns the drivers of databases.
func databaseDrivers() []loader.Plugin {
	return []loader.Plugin{redis.Plugin()}
}
