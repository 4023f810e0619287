package zeromq

import (
	"fmt"
	"slices"
	"sync"

	"github.com/brineproject/brine/transport"
)

const batchBytes = 1 << 20 // joined into one write

// A publication waits in a shard.
type publication struct {
	topics  []string
	body    []byte
	encoded []byte // when there are no topics
}

func (p *publication) size() int { return len(p.topics)*64 + len(p.body) + 64 }

// A shard sends publications to its own subscribers, from one goroutine. It joins all pending
// publications and writes once per subscriber.
type shard struct {
	*transport.Feed[publication]
	limits *transport.Limits

	index sync.Mutex // of what follows
	subs  index
	batch batch
}

// A batch is a list of messages to be sent to the subscribers.
type batch struct {
	wires   []wire
	size    int
	touched []*subscriber
}

// A wire is one encoded message.
type wire struct {
	topic []byte // its first frame
	b     []byte
}

func newShard(l *transport.Limits) *shard {
	s := &shard{Feed: transport.NewFeed((*publication).size), limits: l}
	s.subs.topics = map[string]*topic{}
	return s
}

// Begin starts to send.
func (s *shard) Begin() { s.Start(s.handle) }

// handle sends what is pending.
func (s *shard) handle(work []publication) {
	s.index.Lock()
	defer s.index.Unlock()
	for i := range work {
		s.wire(&work[i])
	}
	s.deliver()
}

// wire adds the messages of a publication to the batch: for topics, only those with subscribers.
func (s *shard) wire(p *publication) {
	if p.topics == nil {
		s.push(wire{topic: p.body, b: p.encoded})
		return
	}
	for _, t := range p.topics {
		if topic := []byte(t); s.subs.wanted(topic) {
			s.push(wire{topic: topic, b: encode(topic, p.body)})
		}
	}
}

func (s *shard) push(w wire) {
	if s.batch.size > 0 && s.batch.size+len(w.b) > batchBytes {
		s.deliver()
	}
	s.batch.wires = append(s.batch.wires, w)
	s.batch.size += len(w.b)
}

// deliver sends the batch to the subscribers of any of its messages.
func (s *shard) deliver() {
	b := &s.batch
	if len(b.wires) == 0 {
		return
	}
	all := s.subs.topics[""]
	for i, w := range b.wires {
		b.touched = s.subs.match(i, w.topic, b.touched)
	}
	joined, ends := join(b.wires, nil)
	for _, sub := range b.touched {
		if len(sub.matched) == len(b.wires) {
			sub.out.SendBatch(joined, ends)
		} else {
			sub.out.SendBatch(join(b.wires, sub.matched))
		}
		sub.matched = sub.matched[:0]
	}
	if all != nil {
		for _, sub := range all.members {
			sub.out.SendBatch(joined, ends)
		}
	}
	clear(b.wires)
	clear(b.touched)
	b.wires, b.touched, b.size = b.wires[:0], b.touched[:0], 0
}

// join concatenates messages: those with the indices in which, or all if it is nil.
func join(wires []wire, which []int) (b []byte, ends []int) {
	if which == nil {
		which = make([]int, len(wires))
		for i := range which {
			which[i] = i
		}
	}
	if len(which) == 1 {
		b = wires[which[0]].b
		return b, []int{len(b)}
	}
	size := 0
	for _, i := range which {
		size += len(wires[i].b)
	}
	b = make([]byte, 0, size)
	for _, i := range which {
		b = append(b, wires[i].b...)
		ends = append(ends, len(b))
	}
	return b, ends
}

// subscribe adds or removes a subscription of a peer.
func (s *shard) subscribe(sub *subscriber, on bool, topic []byte) error {
	s.index.Lock()
	defer s.index.Unlock()
	if !on {
		s.subs.remove(sub, string(topic))
		return nil
	}
	if sub.find(string(topic)) >= 0 {
		return nil
	}
	if transport.Over(len(sub.places)+1, s.limits.MaxSubscriptions) ||
		transport.Over(sub.bytes+len(topic), s.limits.MaxSubscriptionBytes) {
		return fmt.Errorf("too many subscriptions: %w", transport.ErrTooLarge)
	}
	s.subs.add(sub, string(topic))
	return nil
}

func (s *shard) remove(sub *subscriber) {
	s.index.Lock()
	defer s.index.Unlock()
	for len(sub.places) > 0 {
		s.subs.remove(sub, sub.places[len(sub.places)-1].topic)
	}
}

func (s *shard) count(sub *subscriber) int {
	s.index.Lock()
	defer s.index.Unlock()
	return len(sub.places)
}

// A subscriber is a peer of a publisher with its positions in the member lists of topics.
type subscriber struct {
	out     *transport.Outbox
	places  []place // few; a map would take more memory
	bytes   int
	matched []int // indices of messages in the batch for it
}

// A place is the position of a subscriber in the members of a topic.
type place struct {
	topic string
	at    int
}

// find returns the index of a topic in places, or -1.
func (sub *subscriber) find(topic string) int {
	return slices.IndexFunc(sub.places, func(p place) bool { return p.topic == topic })
}

// A topic is a prefix that peers subscribed to.
type topic struct {
	text    string
	members []*subscriber
}

// An index finds the subscribers of a message with one lookup per length of subscriptions.
type index struct {
	topics  map[string]*topic
	lengths []length // ascending
}

type length struct{ n, topics int }

func (x *index) add(sub *subscriber, text string) {
	t := x.topics[text]
	if t == nil {
		t = &topic{text: text}
		x.topics[text] = t
		x.countLength(len(text), 1)
	}
	sub.places = append(sub.places, place{t.text, len(t.members)})
	sub.bytes += len(text)
	t.members = append(t.members, sub)
}

func (x *index) remove(sub *subscriber, text string) {
	i := sub.find(text)
	if i < 0 {
		return
	}
	at := sub.places[i].at
	sub.places = slices.Delete(sub.places, i, i+1)
	sub.bytes -= len(text)
	t := x.topics[text]
	last := len(t.members) - 1
	t.members[at] = t.members[last]
	if at != last {
		t.members[at].move(text, at)
	}
	t.members[last] = nil
	if t.members = t.members[:last]; last == 0 {
		delete(x.topics, text)
		x.countLength(len(text), -1)
	}
}

func (sub *subscriber) move(text string, to int) { sub.places[sub.find(text)].at = to }

func (x *index) countLength(n, by int) {
	at, found := slices.BinarySearchFunc(x.lengths, n, func(l length, n int) int { return l.n - n })
	if !found {
		x.lengths = slices.Insert(x.lengths, at, length{n: n})
	}
	if x.lengths[at].topics += by; x.lengths[at].topics == 0 {
		x.lengths = slices.Delete(x.lengths, at, at+1)
	}
}

func (x *index) wanted(first []byte) bool {
	for _, l := range x.lengths {
		if l.n > len(first) {
			return false
		}
		if x.topics[string(first[:l.n])] != nil {
			return true
		}
	}
	return false
}

// match records message i for the subscribers of a prefix of its first frame, except those who
// receive everything anyway. It appends subscribers without earlier messages to touched.
func (x *index) match(i int, first []byte, touched []*subscriber) []*subscriber {
	for _, l := range x.lengths {
		if l.n > len(first) {
			break
		}
		t := x.topics[string(first[:l.n])]
		if l.n == 0 || t == nil {
			continue
		}
		for _, sub := range t.members {
			touched = sub.note(i, touched)
		}
	}
	return touched
}

func (sub *subscriber) note(i int, touched []*subscriber) []*subscriber {
	n := len(sub.matched)
	if n > 0 && sub.matched[n-1] == i || sub.find("") >= 0 {
		return touched
	}
	if n == 0 {
		touched = append(touched, sub)
	}
	sub.matched = append(sub.matched, i)
	return touched
}
