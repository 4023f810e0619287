//go:build !small || web

package standard

import (
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/httplogstash"
	"github.com/brineproject/brine/engines/webhook"
)

// web returns the engines that speak HTTP, which a small build leaves out.
func web() map[string]engines.Make {
	return map[string]engines.Make{"http_logstash": httplogstash.New, "webhook": webhook.New}
}
