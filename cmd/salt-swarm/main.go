// Command salt-swarm runs simulated minions against a master.
package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltswarm"
)

func main() {
	os.Exit(saltswarm.Run(context.Background(), cli.System(nil), os.Stdout, os.Stderr))
}
