package standard

import (
	"context"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/returners"
	runnerauth "github.com/brineproject/brine/runners/auth"
	runnercache "github.com/brineproject/brine/runners/cache"
	runnercluster "github.com/brineproject/brine/runners/cluster"
	runnerfiles "github.com/brineproject/brine/runners/fileserver"
	"github.com/brineproject/brine/runners/gitpillar"
	"github.com/brineproject/brine/runners/mine"
	runnerpillar "github.com/brineproject/brine/runners/pillar"
)

// Needs are the dependencies of runners. Each may be nil: the runners that require it report an
// error.
//
// Options, the execution and wheel functions, and the access to the bus and to minions come from
// [loader.Env]: Host.Order submits orders to minions, Host.FireMaster fires on the master's bus.
type Needs struct {
	Jobs returners.JobReader // the master's job cache
	// OtherJobs opens another job cache by the name of its returner.
	OtherJobs func(ctx context.Context, name string) (returners.JobReader, error)
	Keys      pki.Store  // the keys of minions
	Bank      cache.Bank // minions' grains and pillar, the mine, and operators' values
	Files     *fileserver.Server
	// InMaster calls a runner on the running master, for runners that change data in the master's
	// memory. It is nil inside a master.
	InMaster runnerfiles.InMaster
	// Connected returns the ids of the connected minions, sorted. It may return an error that wraps
	// manage.ErrUnknown.
	Connected func() ([]string, error)
	// Connections returns the connected minions and what is known about their connections.
	Connections func() (map[string]presence.Connection, error)
	Mine        mine.Get
	Tokens      runnerauth.Tokens
	Locks       runnercache.Locks // of git repositories
	Pillar      runnerpillar.Compiler
	GitPillar   gitpillar.Fetcher // the external pillar git
	Render      render.Brought    // how definitions of Windows packages are rendered
	// Cluster is the master's part in its cluster; nil for a master that is in none, and in a program
	// beside the master.
	Cluster runnercluster.Member
}
