//go:build small && !local

package saltminion

import (
	"context"
	"errors"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

func sources() []pillar.Source { return nil }

// order returns a function that returns an error: this build submits no orders.
func order(*config.Minion, func(string) string) cli.Order {
	return func(context.Context, *data.Map, func(string, *data.Map) bool) error {
		return errors.New("this small build submits no orders to a master on its host: " +
			"build with -tags small,local")
	}
}
