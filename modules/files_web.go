//go:build !small || web

package modules

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileclient/web"
)

// fetchers returns what the file client uses for files from HTTP and FTP servers.
func fetchers() func(opts *data.Map) []fileclient.Fetcher { return web.Fetchers }
