//go:build !small || firewall

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/firewalld"
	"github.com/brineproject/brine/modules/ipset"
	"github.com/brineproject/brine/modules/iptables"
	"github.com/brineproject/brine/modules/nftables"
)

// firewall returns the modules for packet filters.
func (full) firewall() []loader.Plugin {
	return []loader.Plugin{
		firewalld.Plugin(),
		ipset.Plugin(),
		iptables.Plugin(),
		nftables.Plugin(),
	}
}
