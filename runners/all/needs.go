package all

import (
	"context"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returner"
)

// Needs are what runners work on. A need may be nil: the runners that cannot do without it say so.
//
// The options, the functions of the shelves modules and wheel, and what goes to the bus come from [loader.Env]:
// Host.Order publishes, Host.FireMaster fires on the master's bus.
type Needs struct {
	Jobs      returner.JobReader       // the master's job cache
	Keys      pki.Store                // the keys of minions
	Bank      cache.Bank               // what minions told of themselves, the mine and what operators keep there
	Connected func() ([]string, error) // ids of the minions that hold a connection to the master now, sorted
	// Events subscribes to the master's bus: those whose tag begins with one of the prefixes, all when none is given.
	Events func(ctx context.Context, prefixes ...string) (Events, error)
}

// Events are those that happen on the master's bus from the time on when they were subscribed to.
type Events interface {
	Next(ctx context.Context) (eventbus.Event, error)
	Close() error
}
