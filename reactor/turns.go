package reactor

import (
	"context"

	"github.com/brineproject/brine/eventbus"
)

// Turns lets one of several masters react to an event. Its methods must be safe for concurrent use.
type Turns interface {
	// Wait calls start once it is this master's turn to react to an event, at once or later, or
	// never if another master does. It must not block.
	Wait(event eventbus.Event, start func())
	// Begin is called before the reactions. ok is false if it is not this master's turn any more. If
	// the turn is lost, now or before its end, start is kept as by Wait, unless ctx ends.
	Begin(ctx context.Context, event eventbus.Event, start func()) (t Turn, ok bool)
}

// A Turn is the time of one event on this master.
type Turn interface {
	// Context returns the context of the reactions, which ends with the turn.
	Context() context.Context
	// Next returns the index of the first reaction that no master has begun.
	Next() int
	// Step notes that the reaction with an index begins, and reports whether it may.
	Step(ctx context.Context, index int) bool
	// End notes that the reactions have ended, unless the turn was lost or Step has refused one.
	End()
}
