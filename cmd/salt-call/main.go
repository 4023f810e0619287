// Command salt-call is Salt's program of that name.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltcall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(saltcall.Run(ctx, cli.System(nil), os.Stdout, os.Stderr))
}
