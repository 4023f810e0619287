//go:build !linux

package daemon

import "io"

// Init is for containers, which are Linux.
func Init([]string, io.Writer) (code int, done bool) { return 0, false }
