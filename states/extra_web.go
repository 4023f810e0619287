//go:build !small || web

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/http"
	"github.com/brineproject/brine/states/webutil"
)

// web returns the states for HTTP and DNS.
func (full) web() []loader.Plugin {
	return []loader.Plugin{
		http.Plugin(),
		webutil.Plugin(),
	}
}
