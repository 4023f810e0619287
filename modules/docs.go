//go:build !small || docs

package modules

import _ "embed"

// coreDocs and extraDocs document the functions of the plug-ins.
var (
	//go:embed core.txt.gz
	coreDocs string
	//go:embed extra.txt.gz
	extraDocs string
)
