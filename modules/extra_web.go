//go:build !small || web

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/apache"
	"github.com/brineproject/brine/modules/dig"
	"github.com/brineproject/brine/modules/dnsutil"
	"github.com/brineproject/brine/modules/http"
	"github.com/brineproject/brine/modules/nginx"
	"github.com/brineproject/brine/modules/slack"
	"github.com/brineproject/brine/modules/smtp"
	"github.com/brineproject/brine/modules/webutil"
)

// web returns the modules of web servers, and those that speak HTTP, SMTP or DNS.
func (full) web() []loader.Plugin {
	return []loader.Plugin{
		apache.Plugin(),
		dig.Plugin(),
		dnsutil.Plugin(),
		http.Plugin(),
		nginx.Plugin(),
		slack.Plugin(),
		smtp.Plugin(),
		webutil.Plugin(),
	}
}
