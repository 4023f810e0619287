//go:build !linux

package aptpkg

import (
	"io/fs"
	"time"
)

// changed returns when the content of a file was last changed.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
