//go:build !linux

package eventbus

// prepare does nothing here: connections become readers when they are accepted.
func (l *listener) prepare() {}
