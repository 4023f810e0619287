package minion

import "io/fs"

// isOwn always reports true: no programs are recorded on Windows.
func isOwn(fs.DirEntry) bool { return true }
