//go:build !small || security

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/firewalld"
	"github.com/brineproject/brine/modules/gpg"
	"github.com/brineproject/brine/modules/iptables"
	"github.com/brineproject/brine/modules/selinux"
	"github.com/brineproject/brine/modules/x509"
	"github.com/brineproject/brine/modules/x509v2"
)

// security returns the modules for firewalls, certificates, keys and SELinux.
func (full) security() []loader.Plugin {
	return []loader.Plugin{
		firewalld.Plugin(),
		gpg.Plugin(),
		iptables.Plugin(),
		selinux.Plugin(),
		x509.Plugin(),
		x509v2.Plugin(),
	}
}
