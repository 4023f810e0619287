package eventbus

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
)

// A listener is a pub socket with access to its backlog. Before each event is published,
// connections waiting in the backlog become readers, so a client that has connected misses nothing.
type listener struct {
	net.Listener
	server *server
	poll   func() net.Conn // accepts without blocking; nil if not supported

	// wait calls admit whenever connections may be waiting, and returns when the listener is
	// closed. If it is set, connections are accepted only under the lock of the bus, so each is
	// either in the backlog or a reader.
	wait func(admit func()) error
	file io.Closer // descriptor used by wait; nil without wait
}

// close closes the listener and ends accept.
func (l *listener) close() {
	if l.file != nil {
		l.file.Close()
	}
	l.Close()
}

// accept turns connections into readers until the listener is closed.
func (l *listener) accept(ctx context.Context) error {
	s := l.server
	if l.wait == nil {
		return s.accept(ctx, l.Listener, s.addReader)
	}
	err := l.wait(func() {
		s.bus.mu.Lock()
		defer s.bus.mu.Unlock()
		l.admitWaiting()
	})
	if ctx.Err() == nil {
		return fmt.Errorf("wait on event socket: %w", err)
	}
	return nil
}

// admitWaiting turns waiting connections into readers. The caller must hold the lock of the bus.
func (l *listener) admitWaiting() {
	if l.poll == nil {
		return
	}
	for conn := l.poll(); conn != nil; conn = l.poll() {
		l.server.addReaderLocked(conn)
	}
}

func (b *Bus) addListener(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = append(b.listeners, l)
}

func (b *Bus) removeListener(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.admitWaiting()
	b.listeners = slices.DeleteFunc(b.listeners, func(x *listener) bool { return x == l })
}
