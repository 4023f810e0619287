//go:build small && !local

package saltminion

import (
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
)

func sources() []pillar.Source { return nil }

func outputters() []loader.Plugin { return nil }

func order(*config.Minion, func(string) string) cli.Order { return nil }
