//go:build !linux

package pki

import (
	"io/fs"
	"time"
)

// changed returns the time of a file's last change; here only that of the last write is known.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
