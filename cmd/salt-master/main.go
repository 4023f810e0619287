// Command salt-master is Salt's program of that name.
package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/flags/urfave"
	"github.com/brineproject/brine/cli/saltmaster"
)

func main() {
	os.Exit(saltmaster.Run(context.Background(), cli.System(urfave.Read), os.Stdout, os.Stderr))
}
