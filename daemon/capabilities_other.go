//go:build !linux && unix

package daemon

// dropCapabilities does nothing: other systems have none that outlive root.
func dropCapabilities() error { return nil }
