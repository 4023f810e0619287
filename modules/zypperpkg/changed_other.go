//go:build !linux

package zypperpkg

import "io/fs"

// changedAt returns the time of the last change of a file's contents, in seconds since 1970.
func changedAt(s fs.FileInfo) int64 { return s.ModTime().Unix() }
