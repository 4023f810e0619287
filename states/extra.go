//go:build !small

package states

import (
	_ "embed"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/alias"
	"github.com/brineproject/brine/states/alternatives"
	"github.com/brineproject/brine/states/archive"
	"github.com/brineproject/brine/states/at"
	"github.com/brineproject/brine/states/git"
	"github.com/brineproject/brine/states/gpg"
	"github.com/brineproject/brine/states/http"
	"github.com/brineproject/brine/states/mysqldatabase"
	"github.com/brineproject/brine/states/mysqlgrants"
	"github.com/brineproject/brine/states/mysqlquery"
	"github.com/brineproject/brine/states/mysqluser"
	"github.com/brineproject/brine/states/pip"
	"github.com/brineproject/brine/states/postgresdatabase"
	"github.com/brineproject/brine/states/postgresextension"
	"github.com/brineproject/brine/states/postgresprivileges"
	"github.com/brineproject/brine/states/postgresrole"
	"github.com/brineproject/brine/states/postgresschema"
	"github.com/brineproject/brine/states/postgrestablespace"
	"github.com/brineproject/brine/states/virtualenv"
	"github.com/brineproject/brine/states/x509"
	"github.com/brineproject/brine/states/x509v2"
)

//go:generate go run github.com/brineproject/brine/internal/docgen extra.go

// extraDocs documents the functions of the plug-ins below.
//
//go:embed extra.txt
var extraDocs string

// extra returns the states of a full build, whose modules a small one does not have either.
func extra() []loader.Plugin {
	return loader.NewDocs(extraDocs).Document([]loader.Plugin{
		alias.Plugin(),
		alternatives.Plugin(),
		archive.Plugin(),
		at.Plugin(),
		git.Plugin(),
		gpg.Plugin(),
		http.Plugin(),
		mysqldatabase.Plugin(),
		mysqlgrants.Plugin(),
		mysqlquery.Plugin(),
		mysqluser.Plugin(),
		pip.Plugin(),
		postgresdatabase.Plugin(),
		postgresextension.Plugin(),
		postgresrole.Group(),
		postgresprivileges.Plugin(),
		postgresschema.Plugin(),
		postgrestablespace.Plugin(),
		postgresrole.User(),
		virtualenv.Plugin(),
		x509.Plugin(),
		x509v2.Plugin(),
	})
}
