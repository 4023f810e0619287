// Command salt-minion is Salt's program of that name.
package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltminion"
	"github.com/brineproject/brine/daemon"
)

func main() {
	os.Exit(daemon.Serve(context.Background(), "salt-minion", func(ctx context.Context) int {
		return saltminion.Run(ctx, cli.System(nil), os.Stdout, os.Stderr)
	}))
}
