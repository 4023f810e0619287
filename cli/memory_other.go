//go:build !linux

package cli

// unmapRead does nothing: only Linux offers this.
func unmapRead() error { return nil }
