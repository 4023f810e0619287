//go:build !small || web

package modules

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileclient/stores"
	"github.com/brineproject/brine/fileclient/web"
)

// addWeb adds the clients of HTTP and FTP servers and of object stores.
func addWeb(b *fileclient.Brought) { b.Fetchers, b.Stores = web.Fetchers, stores.Fetchers }
