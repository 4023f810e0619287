//go:build !linux

package pki

import (
	"io/fs"
	"time"
)

// changed returns when a file was last changed, as far as it is known here: when it was written to.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
