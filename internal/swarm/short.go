package swarm

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/transport"
)

// shortRequester is a requester that connects for each request, as minions before 3006.5 do. It
// lets a swarm be larger than half of the process's limit of open files.
type shortRequester struct {
	ports  Ports
	dialer transport.Dialer
	turn   *semaphore.Weighted // of the whole swarm
}

var _ transport.Requester = (*shortRequester)(nil)

// Do connects, sends body and returns the reply.
func (s *shortRequester) Do(ctx context.Context, body []byte) ([]byte, error) {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.turn.Release(1)
	r := s.ports.Request(s.dialer)
	defer r.Close()
	return r.Do(ctx, body)
}

// Close does nothing: no connection outlasts its request.
func (s *shortRequester) Close() error { return nil }
