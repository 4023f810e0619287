//go:build small && !web

package modules

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
)

func fetchers() func(opts *data.Map) []fileclient.Fetcher { return nil }
