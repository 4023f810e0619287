// Command salt-call is Salt's program of that name.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltcall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(saltcall.Run(ctx, cli.System(nil), os.Stdout, os.Stderr))
}
