//go:build !windows

package daemon

import "context"

// Serve runs a daemon and returns its exit code. On Windows it does that as a service of this name
// if the service manager has started the process.
func Serve(ctx context.Context, _ string, run func(context.Context) int) int { return run(ctx) }
