//go:build !linux

package master

// admit does nothing here: users reach a socket by its group.
func admit(string, []string) error { return nil }
