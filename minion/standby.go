package minion

import (
	"context"
	"fmt"
	"sync"

	"github.com/brineproject/brine/transport"
)

// A standby is the requester of a master of a failover, which uses one master of several. It connects
// only while it is awake: Close closes the connection, and wake allows a new one.
type standby struct {
	open func() transport.Requester

	mu  sync.Mutex
	now transport.Requester // nil while it rests
}

// errResting is returned for requests to a master that is not in use.
var errResting = fmt.Errorf("this master is not in use: %w", transport.ErrClosed)

// wake lets the requester connect.
func (s *standby) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		s.now = s.open()
	}
}

// Do sends a request. It returns errResting while the requester rests.
func (s *standby) Do(ctx context.Context, body []byte) ([]byte, error) {
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	if now == nil {
		return nil, errResting
	}
	return now.Do(ctx, body)
}

// Hurry ends the pause before the next attempt to connect.
func (s *standby) Hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.now.(transport.Hurrier); ok {
		h.Hurry()
	}
}

// Close closes the connection: the requester rests.
func (s *standby) Close() error {
	s.mu.Lock()
	now := s.now
	s.now = nil
	s.mu.Unlock()
	if now == nil {
		return nil
	}
	return now.Close()
}
