// Package clock provides a Sleep that a context can end.
package clock

import (
	"context"
	"time"
)

// Sleep waits for d, or until ctx ends; then it returns the context's cause.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
