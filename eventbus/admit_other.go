//go:build !linux

package eventbus

// prepare leaves poll out: connections become readers when they are accepted.
func (l *listener) prepare() {}
