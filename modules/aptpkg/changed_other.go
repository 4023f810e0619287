//go:build !linux

package aptpkg

import (
	"io/fs"
	"time"
)

// changed returns when a file was changed last.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
