// Package wheel lists the wheel modules, with which operators manage a master.
package wheel

import (
	_ "embed"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/wheel/config"
	wheelerror "github.com/brineproject/brine/wheel/error"
	"github.com/brineproject/brine/wheel/key"
	"github.com/brineproject/brine/wheel/minions"
	"github.com/brineproject/brine/wheel/roots"
)

//go:generate go run github.com/brineproject/brine/internal/docgen all.go

// allDocs documents the functions of the plug-ins below.
//
//go:embed all.txt.gz
var allDocs string

// Needs are the dependencies of wheel modules. Each may be nil: the modules that require it report
// an error. Events are fired through Host.FireMaster of [loader.Env].
type Needs struct {
	Keys      *pki.Dir                 // the master's own keys and those of minions
	Connected func() ([]string, error) // ids of the connected minions, sorted
	Bank      cache.Bank               // minions' grains and pillar
}

// Plugins returns the wheel modules.
func Plugins(n Needs) []loader.Plugin {
	return loader.NewDocs(allDocs).Document([]loader.Plugin{
		config.Plugin(),
		wheelerror.Plugin(),
		roots.Plugin("file_roots"),
		key.Plugin(n.Keys),
		minions.Plugin(n.Connected, n.Bank),
		roots.Plugin("pillar_roots"),
	})
}
