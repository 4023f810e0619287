// Command salt-syndic is Salt's program of that name.
package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltsyndic"
)

func main() {
	os.Exit(saltsyndic.Run(context.Background(), cli.System(nil), os.Stdout, os.Stderr))
}
