//go:build !small || web

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/dnsutil"
	"github.com/brineproject/brine/modules/http"
	"github.com/brineproject/brine/modules/webutil"
)

// web returns the modules for HTTP and DNS.
func (full) web() []loader.Plugin {
	return []loader.Plugin{
		dnsutil.Plugin(),
		http.Plugin(),
		webutil.Plugin(),
	}
}
