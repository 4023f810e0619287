//go:build small && !web

package modules

import "github.com/brineproject/brine/fileclient"

func addWeb(*fileclient.Brought) {}
