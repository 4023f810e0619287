//go:build !small || firewall

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/firewalld"
	"github.com/brineproject/brine/states/ipset"
	"github.com/brineproject/brine/states/iptables"
	"github.com/brineproject/brine/states/nftables"
)

// firewall returns the states for packet filters.
func (full) firewall() []loader.Plugin {
	return []loader.Plugin{
		firewalld.Plugin(),
		ipset.Plugin(),
		iptables.Plugin(),
		nftables.Plugin(),
	}
}
