//go:build !small || security

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/firewalld"
	"github.com/brineproject/brine/states/gpg"
	"github.com/brineproject/brine/states/iptables"
	"github.com/brineproject/brine/states/selinux"
	"github.com/brineproject/brine/states/x509"
	"github.com/brineproject/brine/states/x509v2"
)

// security returns the states for firewalls, certificates, keys and SELinux.
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
