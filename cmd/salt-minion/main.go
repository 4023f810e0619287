// Command salt-minion is Salt's program of that name.
package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltminion"
)

func main() {
	os.Exit(saltminion.Run(context.Background(), cli.System(nil), os.Stdout, os.Stderr))
}
