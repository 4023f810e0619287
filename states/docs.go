//go:build !small || docs

package states

import _ "embed"

// coreDocs and extraDocs document the functions of the plug-ins.
var (
	//go:embed all.txt.gz
	coreDocs string
	//go:embed extra.txt.gz
	extraDocs string
)
