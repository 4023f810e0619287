//go:build !small

package all

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/loader"
)

// extra are the modules that a small build leaves out.
func extra() []loader.Plugin { return nil }

// brought is what the file client has beside the protocol of a master, which is all in a small build.
func brought() fileclient.Brought {
	return fileclient.Brought{Fetchers: web.Fetchers, Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}
}
