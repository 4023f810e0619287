package all

import (
	_ "embed"

	"github.com/brineproject/brine/loader"
)

//go:generate go run github.com/brineproject/brine/internal/docgen ..

//go:embed docs.txt
var docs string

// documented returns the plug-ins with what sys.doc shows of their functions.
func documented(plugins []loader.Plugin) []loader.Plugin {
	return loader.NewDocs(docs).Document(plugins)
}
