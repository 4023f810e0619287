//go:build !linux && unix

package daemon

// dropCapabilities does nothing: on other systems no capabilities remain after root is given up.
func dropCapabilities() error { return nil }
