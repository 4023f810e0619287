//go:build !linux

package daemon

import "io"

const underInit = "BRINE_UNDER_INIT"

// Init does nothing: it is for Linux containers.
func Init([]string, io.Writer) (code int, done bool) { return 0, false }

// InContainer always reports false.
func InContainer() bool { return false }
