//go:build !small || local

package saltminion

import (
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/sources/saltclass"
)

// sources returns the external pillars of a minion that compiles its own pillar.
func sources() []pillar.Source { return append(pillar.Sources(), saltclass.Source{}) }

// order returns the function by which a minion on a master's host submits orders to that master.
func order(cfg *config.Minion, env func(string) string) cli.Order { return cli.OrderOf(cfg, env) }
