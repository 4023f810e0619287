//go:build !small || x509

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/tls"
	"github.com/brineproject/brine/modules/x509"
	"github.com/brineproject/brine/modules/x509v2"
)

// x509 returns the modules for certificates.
func (full) x509() []loader.Plugin {
	return []loader.Plugin{
		tls.Plugin(),
		x509.Plugin(),
		x509v2.Plugin(),
	}
}
