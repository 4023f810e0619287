// Command salt-api is Salt's program of that name.
package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/flags/urfave"
	"github.com/brineproject/brine/cli/saltapi"
)

func main() {
	os.Exit(saltapi.Run(context.Background(), cli.System(urfave.Read), os.Stdout, os.Stderr,
		saltapi.Options{Connect: saltapi.Connect}))
}
