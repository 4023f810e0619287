//go:build !small || local

package modules

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/loader"
)

// local returns the file server of a minion with file_client: local.
func local() func(env *loader.Env) (fileclient.Source, error) {
	return fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})
}
