package serve

import (
	"context"
	"runtime"
	"sync/atomic"
)

// A Shard sends publications to some of the peers of a publisher.
type Shard interface {
	// Begin starts the sending goroutine.
	Begin()
	// Finish makes the shard send what is pending and then end.
	Finish()
	// Settle waits until everything pending was sent, or ctx ends.
	Settle(ctx context.Context)
}

// Shards are the shards of one publisher, a few per machine. Peers are assigned to them in turn.
type Shards[S Shard] struct {
	all  []S
	next atomic.Uint32
}

// MakeShards initializes s with shards returned by fresh.
func (s *Shards[S]) MakeShards(fresh func() S) {
	for range min(runtime.GOMAXPROCS(0), 8) {
		s.all = append(s.all, fresh())
	}
}

// Next returns the shard for a new peer.
func (s *Shards[S]) Next() S { return s.all[int(s.next.Add(1))%len(s.all)] }

// All returns the shards. The slice must not be modified.
func (s *Shards[S]) All() []S { return s.all }

// Around runs a server whose peers are served by the shards: serve starts them with the given
// function. When ctx ends they send what is pending.
func (s *Shards[S]) Around(ctx context.Context, serve func(begin func()) error) error {
	defer context.AfterFunc(ctx, s.finish)()
	err := serve(s.begin)
	if err == nil {
		s.finish()
		for _, one := range s.all {
			one.Settle(context.Background())
		}
	}
	return err
}

func (s *Shards[S]) begin() {
	for _, one := range s.all {
		one.Begin()
	}
}

func (s *Shards[S]) finish() {
	for _, one := range s.all {
		one.Finish()
	}
}
