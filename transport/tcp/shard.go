package tcp

import (
	"sync"

	"github.com/brineproject/brine/transport"
)

const batchBytes = 1 << 20 // joined into one write

// A publication waits in a shard.
type publication struct {
	ids   []string // nil is everybody
	frame []byte   // shared by all shards and subscribers
}

func (p *publication) size() int { return len(p.ids)*32 + len(p.frame) + 64 }

// A shard sends publications to its own subscribers, from one goroutine, in order. It takes all
// that is pending, joins what is for everybody and writes once per subscriber.
type shard struct {
	*transport.Feed[publication]

	index   sync.Mutex // of what follows
	all     []*subscriber
	ids     map[string][]*subscriber
	unknown map[*subscriber]struct{} // those that have not said who they are
	joined  []byte                   // on its way to all
	ends    []int
	number  uint64 // of the publication
}

// A subscriber is one peer of a publisher.
type subscriber struct {
	out  *transport.Outbox
	id   string
	at   int    // in the list of all
	sent uint64 // number of the last publication for some that it got
}

func newShard() *shard {
	return &shard{Feed: transport.NewFeed((*publication).size), ids: map[string][]*subscriber{},
		unknown: map[*subscriber]struct{}{}}
}

// Begin starts to send.
func (s *shard) Begin() { s.Start(s.deliver) }

// deliver sends what is pending.
func (s *shard) deliver(work []publication) {
	s.index.Lock()
	defer s.index.Unlock()
	for i := range work {
		p := &work[i]
		if p.ids == nil {
			s.push(p.frame)
			continue
		}
		s.flush() // order is kept
		s.sendSome(p)
	}
	s.flush()
}

// push adds a frame to what all get. The first is shared as it is, more are copied behind each
// other.
func (s *shard) push(frame []byte) {
	if len(s.joined) > 0 && len(s.joined)+len(frame) > batchBytes {
		s.flush()
	}
	if s.joined == nil {
		s.joined = frame[:len(frame):len(frame)]
	} else {
		s.joined = append(s.joined, frame...)
	}
	s.ends = append(s.ends, len(s.joined))
}

func (s *shard) flush() {
	if len(s.ends) == 0 {
		return
	}
	for _, sub := range s.all {
		sub.out.SendBatch(s.joined, s.ends)
	}
	s.joined, s.ends = nil, s.ends[:0]
}

// sendSome sends a publication to the minions that it is for, and to peers that may be such.
func (s *shard) sendSome(p *publication) {
	s.number++
	ends := [1]int{len(p.frame)}
	for _, id := range p.ids {
		for _, sub := range s.ids[id] {
			if sub.sent != s.number {
				sub.sent = s.number
				sub.out.SendBatch(p.frame, ends[:])
			}
		}
	}
	for sub := range s.unknown {
		sub.out.SendBatch(p.frame, ends[:])
	}
}

func (s *shard) join(sub *subscriber) {
	s.index.Lock()
	defer s.index.Unlock()
	sub.at = len(s.all)
	s.all = append(s.all, sub)
	s.unknown[sub] = struct{}{}
}

// identify notes who a subscriber is.
func (s *shard) identify(sub *subscriber, id string) {
	s.index.Lock()
	defer s.index.Unlock()
	delete(s.unknown, sub)
	sub.id = id
	s.ids[id] = append(s.ids[id], sub)
}

func (s *shard) remove(sub *subscriber) {
	s.index.Lock()
	defer s.index.Unlock()
	last := len(s.all) - 1
	s.all[sub.at] = s.all[last]
	s.all[sub.at].at = sub.at
	s.all[last] = nil
	s.all = s.all[:last]
	delete(s.unknown, sub)
	s.forget(sub)
}

// forget takes a subscriber from those with its id.
func (s *shard) forget(sub *subscriber) {
	if sub.id == "" {
		return
	}
	var others []*subscriber
	for _, other := range s.ids[sub.id] {
		if other != sub {
			others = append(others, other)
		}
	}
	if s.ids[sub.id] = others; others == nil {
		delete(s.ids, sub.id)
	}
}
