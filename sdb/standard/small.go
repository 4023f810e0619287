//go:build small

package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/sdb/cache"
	"github.com/brineproject/brine/sdb/keyring"
)

// Plugins returns the drivers. A small build has those that need no web client.
func Plugins() []loader.Plugin { return []loader.Plugin{cache.Plugin(), keyring.Plugin()} }
