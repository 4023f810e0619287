//go:build !small || x509

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/tls"
	"github.com/brineproject/brine/states/virt"
	"github.com/brineproject/brine/states/x509"
	"github.com/brineproject/brine/states/x509v2"
)

// x509 returns the states for certificates.
func (full) x509() []loader.Plugin {
	return []loader.Plugin{
		tls.Plugin(),
		virt.Plugin(),
		x509.Plugin(),
		x509v2.Plugin(),
	}
}
