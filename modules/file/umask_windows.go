package file

import "io/fs"

// processUmask returns no mask: Windows has none.
func processUmask() fs.FileMode { return 0 }
