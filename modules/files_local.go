//go:build !small || local

package modules

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
)

// addLocal adds the file server of a minion with file_client: local.
func addLocal(b *fileclient.Brought) {
	b.Local = fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})
}
