//go:build !small || web

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/apache"
	"github.com/brineproject/brine/states/http"
	"github.com/brineproject/brine/states/slack"
	"github.com/brineproject/brine/states/smtp"
	"github.com/brineproject/brine/states/webutil"
)

// web returns the states of web servers, and those that speak HTTP or SMTP.
func (full) web() []loader.Plugin {
	return []loader.Plugin{
		apache.Conf(),
		apache.Module(),
		apache.Plugin(),
		apache.Site(),
		http.Plugin(),
		slack.Plugin(),
		smtp.Plugin(),
		webutil.Plugin(),
	}
}
