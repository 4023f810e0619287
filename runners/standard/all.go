// Package standard lists the runners of a master and of the program salt-run.
package standard

import (
	_ "embed"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners/auth"
	"github.com/brineproject/brine/runners/cache"
	"github.com/brineproject/brine/runners/cluster"
	"github.com/brineproject/brine/runners/config"
	"github.com/brineproject/brine/runners/doc"
	"github.com/brineproject/brine/runners/error"
	"github.com/brineproject/brine/runners/event"
	"github.com/brineproject/brine/runners/fileserver"
	"github.com/brineproject/brine/runners/gitpillar"
	"github.com/brineproject/brine/runners/http"
	"github.com/brineproject/brine/runners/jobs"
	"github.com/brineproject/brine/runners/manage"
	"github.com/brineproject/brine/runners/match"
	"github.com/brineproject/brine/runners/mine"
	"github.com/brineproject/brine/runners/nacl"
	"github.com/brineproject/brine/runners/network"
	"github.com/brineproject/brine/runners/pillar"
	"github.com/brineproject/brine/runners/pkg"
	"github.com/brineproject/brine/runners/queue"
	"github.com/brineproject/brine/runners/reactor"
	"github.com/brineproject/brine/runners/salt"
	"github.com/brineproject/brine/runners/saltutil"
	"github.com/brineproject/brine/runners/sdb"
	"github.com/brineproject/brine/runners/state"
	"github.com/brineproject/brine/runners/survey"
	"github.com/brineproject/brine/runners/test"
	"github.com/brineproject/brine/runners/vault"
	"github.com/brineproject/brine/runners/winrepo"
)

//go:generate go run github.com/brineproject/brine/internal/docgen all.go

// allDocs documents the functions of the plug-ins below.
//
//go:embed all.txt.gz
var allDocs string

// Plugins returns the runners, in the order in which providers of one name are tried.
func Plugins(n Needs) []loader.Plugin {
	return loader.NewDocs(allDocs).Document([]loader.Plugin{
		auth.Plugin(n.Tokens),
		cache.Plugin(cache.Needs{Keys: n.Keys, Bank: n.Bank, Locks: n.Locks}),
		cluster.Plugin(cluster.Needs{Member: n.Cluster, Master: cluster.InMaster(n.InMaster)}),
		config.Plugin(),
		doc.Plugin(),
		error.Plugin(),
		event.Plugin(),
		fileserver.Plugin(n.Files, n.InMaster),
		gitpillar.Plugin(n.GitPillar),
		http.Plugin(),
		jobs.Plugin(jobs.Needs{Jobs: n.Jobs, Other: n.OtherJobs}),
		manage.Plugin(manage.Needs{Keys: n.Keys, Bank: n.Bank, Connected: n.Connected, Connections: n.Connections}),
		match.Plugin(n.Keys, n.Bank),
		mine.Plugin(n.Mine),
		nacl.Plugin(),
		network.Plugin(),
		pillar.Plugin(pillar.Needs{Keys: n.Keys, Bank: n.Bank, Compiler: n.Pillar}),
		pkg.Plugin(pkg.Needs{Jobs: n.Jobs, Other: n.OtherJobs}),
		queue.Plugin(),
		reactor.Plugin(),
		salt.Plugin(),
		saltutil.Plugin(),
		sdb.Plugin(),
		state.Plugin(n.Pillar),
		survey.Plugin(),
		test.Plugin(),
		vault.Plugin(vault.Needs{Keys: n.Keys, Bank: n.Bank, Compiler: n.Pillar}),
		winrepo.Plugin(n.Render),
	})
}
