package standard

import (
	"slices"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/sdb/cache"
	"github.com/brineproject/brine/sdb/keyring"
)

// Plugins returns the drivers. A small build has those that need no web client, and those of its
// build tags databases, vault and web.
func Plugins() []loader.Plugin {
	return slices.Concat([]loader.Plugin{cache.Plugin(), keyring.Plugin()}, databaseDrivers(),
		vaultDrivers(), webDrivers())
}
