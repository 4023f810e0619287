package standard

import (
	"context"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	runnerauth "github.com/brineproject/brine/runners/auth"
	runnercache "github.com/brineproject/brine/runners/cache"
	runnerfiles "github.com/brineproject/brine/runners/fileserver"
	"github.com/brineproject/brine/runners/gitpillar"
	"github.com/brineproject/brine/runners/mine"
	runnerpillar "github.com/brineproject/brine/runners/pillar"
)

// Needs are what runners work on. A need may be nil: the runners that cannot do without it say so.
//
// The options, the functions of the shelves modules and wheel, and the ways to the bus and to minions come from
// [loader.Env]: Host.Order gives minions orders, Host.FireMaster fires on the master's bus.
type Needs struct {
	Jobs returners.JobReader // the master's job cache
	// OtherJobs opens another job cache by the name of its returner.
	OtherJobs func(ctx context.Context, name string) (returners.JobReader, error)
	Keys      pki.Store  // the keys of minions
	Bank      cache.Bank // what minions told of themselves, the mine and what operators keep there
	Files     *fileserver.Server
	// InMaster has the running master call a runner, for those that change what a master holds in memory. It is nil inside of a
	// master.
	InMaster runnerfiles.InMaster
	// Connected returns the ids of the minions that hold a connection to the master now, sorted. It may return an error
	// that wraps manage.ErrUnknown.
	Connected func() ([]string, error)
	Mine      mine.Get
	Tokens    runnerauth.Tokens
	Locks     runnercache.Locks // of git repositories
	Pillar    runnerpillar.Compiler
	GitPillar gitpillar.Fetcher // the external pillar git
}
