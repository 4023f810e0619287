// Command salt-key is Salt's program of that name.
package main

import (
	"context"
	"os"

	"github.com/brineproject/brine/cli"
)

func main() {
	os.Exit(cli.Key(context.Background(), cli.System(), os.Stdout, os.Stderr))
}
