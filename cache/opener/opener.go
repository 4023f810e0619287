// Package opener opens the cache of a master that the option cache names. It links the drivers of
// databases.
package opener

import (
	"fmt"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/consul"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/cache/mysql"
	"github.com/brineproject/brine/cache/redis"
	"github.com/brineproject/brine/data"
)

// Names returns the caches that the option cache may name.
func Names() []string { return []string{"localfs", "consul", "mysql", "redis"} }

// Open opens the cache of a master with these options: files below cachedir, unless the option cache
// names another. The error names the option. The caller closes the cache.
func Open(opts *data.Map) (cache.Closer, error) {
	var (
		c   cache.Closer
		err error
	)
	switch name := opts.Text("cache"); name {
	case "", "localfs", "localfs_key":
		return localfs.Open(opts.Text("cachedir"))
	case "consul":
		c, err = consul.Open(opts)
	case "mysql":
		c, err = mysql.Open(opts)
	case "redis":
		c, err = redis.Open(opts)
	default:
		err = fmt.Errorf("there is no cache %q; use one of consul, localfs, mysql and redis", name)
	}
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	return c, nil
}
