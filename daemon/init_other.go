//go:build !linux

package daemon

import "io"

const underInit = "BRINE_UNDER_INIT"

// Init is for containers, which are Linux.
func Init([]string, io.Writer) (code int, done bool) { return 0, false }

// InContainer reports false: see Init.
func InContainer() bool { return false }
