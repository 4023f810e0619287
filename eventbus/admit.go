package eventbus

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
)

// A listener is a pub socket as the bus sees it: before an event is handed out, connections that wait to be
// accepted become readers, so that whoever has connected misses nothing.
type listener struct {
	net.Listener
	server *server
	poll   func() net.Conn // accepts without waiting; nil where that cannot be done

	// wait calls admit whenever connections may be waiting, and returns when the listener is closed. With it
	// nothing is accepted but under the lock of the bus: no connection is ever neither waiting nor a reader.
	wait func(admit func()) error
	file io.Closer // what is waited on; nil without wait
}

// close ends accept.
func (l *listener) close() {
	if l.file != nil {
		l.file.Close()
	}
	l.Close()
}

// accept makes connections readers until the listener is closed.
func (l *listener) accept(ctx context.Context) error {
	s := l.server
	if l.wait == nil {
		return s.accept(ctx, l.Listener, s.addReader)
	}
	err := l.wait(func() {
		s.bus.mu.Lock()
		defer s.bus.mu.Unlock()
		l.admit()
	})
	if ctx.Err() == nil {
		return fmt.Errorf("wait on event socket: %w", err)
	}
	return nil
}

// admit makes waiting connections readers. The bus holds its lock.
func (l *listener) admit() {
	if l.poll == nil {
		return
	}
	for conn := l.poll(); conn != nil; conn = l.poll() {
		l.server.admitted(conn)
	}
}

func (b *Bus) addListener(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.admits = append(b.admits, l)
}

func (b *Bus) removeListener(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.admit()
	b.admits = slices.DeleteFunc(b.admits, func(x *listener) bool { return x == l })
}
