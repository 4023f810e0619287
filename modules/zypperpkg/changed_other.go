//go:build !linux

package zypperpkg

import "io/fs"

// changedAt returns when a file was last given another content.
func changedAt(s fs.FileInfo) int64 { return s.ModTime().Unix() }
