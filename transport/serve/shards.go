package serve

import (
	"context"
	"runtime"
	"sync/atomic"
)

// A Shard sends publications to some of the peers of a publisher.
type Shard interface {
	// Begin starts the goroutine that sends.
	Begin()
	// Finish lets the shard send what it has, and end.
	Finish()
	// Settle waits until it has sent what it had, or ctx ends.
	Settle(ctx context.Context)
}

// Shards are those of one publisher, a few on each machine; peers are dealt to them in turn.
type Shards[S Shard] struct {
	all  []S
	next atomic.Uint32
}

// MakeShards fills in s with what fresh returns.
func (s *Shards[S]) MakeShards(fresh func() S) {
	for range min(runtime.GOMAXPROCS(0), 8) {
		s.all = append(s.all, fresh())
	}
}

// Next returns the shard of a new peer.
func (s *Shards[S]) Next() S { return s.all[int(s.next.Add(1))%len(s.all)] }

// All returns the shards; the list must not be changed.
func (s *Shards[S]) All() []S { return s.all }

// Around runs a server whose peers the shards send to: serve begins them by the function that it is
// given. When ctx ends they send what they have.
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
