// Command salt-run is Salt's program of that name.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/flags/urfave"
	"github.com/brineproject/brine/cli/saltrun"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(saltrun.Run(ctx, cli.System(urfave.Read), os.Stdout, os.Stderr))
}
