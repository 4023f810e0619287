//go:build !linux

package minion

// isSalt always reports false: there is no cheap way to read the command line of a process here.
// Job files then count as left by an earlier run.
func isSalt(int) bool { return false }
