// Command salt-key is Salt's program of that name.
package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/flags/urfave"
)

func main() {
	os.Exit(cli.Key(context.Background(), cli.System(urfave.Read), os.Stdout, os.Stderr))
}
