package stream

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// A Filter selects the events of a listener. The zero value selects all events from now on.
type Filter struct {
	User string // counted for Options.MaxPerUser

	// the id of the last event that the client has seen (Last-Event-ID); "" starts with the next event
	After string
	// a glob for the whole tag, as in Salt's reactor, if it contains one of *?[ and else a prefix; ""
	// selects all
	Tag string
	// selects the events of one job: those with this jid as one of the tag's parts; "" selects all
	Job string
	// reports whether the client may see events with a tag. It is called for each event that the rest
	// of the filter selects, and must be fast; nil allows all
	May func(tag string) bool
}

// selects returns a function for the fields Tag, Job and May.
func (f Filter) selects() func(tag string) bool {
	kind := "startswith"
	if strings.ContainsAny(f.Tag, "*?[") {
		kind = "fnmatch"
	}
	match, err := eventbus.Matcher(kind, f.Tag)
	if err != nil {
		match = func(string) bool { return false } // neither kind has invalid patterns
	}
	return func(tag string) bool {
		return (f.Job == "" || hasPart(tag, f.Job)) && match(tag) && (f.May == nil || f.May(tag))
	}
}

// hasPart reports whether part is one of the parts of tag between slashes.
func hasPart(tag, part string) bool {
	for p := range strings.SplitSeq(tag, "/") {
		if p == part {
			return true
		}
	}
	return false
}

// An Item is an event for a listener, or a notice about lost events.
type Item struct{ e *entry }

// Tag returns the tag: LostTag for a notice.
func (i Item) Tag() string { return i.e.tag }

// ID returns the position of the event, for Filter.After.
func (i Item) ID() string { return string(appendPosition(nil, i.e.hub.run, i.e.id)) }

// Data returns the decoded data. The error is that of decoding.
func (i Item) Data() (*data.Map, error) { return i.e.value() }

// JSON returns an object with the keys data and tag on one line. All listeners share the bytes, which
// must not be modified.
func (i Item) JSON() []byte {
	text := i.text()
	return text[len(dataPrefix) : len(text)-2]
}

// text returns the event as Salt sends it to websockets: "data: ", the JSON and an empty line.
func (i Item) text() []byte {
	frame := i.e.message() // sets e.text
	return frame[i.e.text:]
}

// Lost returns what was lost if the item is a notice.
func (i Item) Lost() (Lost, bool) {
	if i.e.lost == nil {
		return Lost{}, false
	}
	return *i.e.lost, true
}

// A Listener is one client's position in the events of a Hub. Only Close may be called while another
// method runs.
type Listener struct {
	hub    *Hub
	user   string
	wants  func(tag string) bool
	resume bool // Filter.After was set

	pos    uint64 // id of the next entry to look at
	notice *Lost  // to be returned first

	closing sync.Once
}

// Listen returns a listener, which the caller must close. The error is a *LimitError.
func (h *Hub) Listen(f Filter) (*Listener, error) {
	l := &Listener{hub: h, user: f.User, wants: f.selects(), resume: f.After != ""}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.enter(f.User); err != nil {
		return nil, err
	}
	l.pos = h.ring.next
	if l.resume {
		l.seek(f.After)
	}
	return l, nil
}

// seek moves the listener behind the event with the id after. A client from an earlier run has seen
// nothing of this run.
func (l *Listener) seek(after string) {
	run, n, ok := parsePosition(after)
	switch {
	case ok && run == l.hub.run && n < l.hub.ring.next:
		l.pos = n + 1
	case ok && run != l.hub.run:
		l.pos = l.hub.ring.first
		l.notice = &Lost{Reason: LostRestart}
	default:
		l.notice = &Lost{Reason: LostUnknown}
	}
}

// Close releases the listener's place.
func (l *Listener) Close() { l.closing.Do(func() { l.hub.leave(l.user) }) }

// Next waits for the next event that the filter selects. The error is that of ctx, or ErrClosed.
func (l *Listener) Next(ctx context.Context) (Item, error) {
	for {
		item, wake, err := l.poll()
		if wake == nil {
			return item, err
		}
		select {
		case <-wake:
		case <-l.hub.done:
		case <-ctx.Done():
			return Item{}, ctx.Err()
		}
	}
}

// poll returns the next event, or a channel that is closed when there are more events to look at.
func (l *Listener) poll() (Item, <-chan struct{}, error) {
	for {
		e, wake, err := l.advance()
		if e == nil || e.lost != nil || l.wants(e.tag) {
			return Item{e}, wake, err
		}
	}
}

// advance returns the next entry, whatever its tag.
func (l *Listener) advance() (*entry, <-chan struct{}, error) {
	h := l.hub
	h.mu.RLock()
	defer h.mu.RUnlock()
	if lost := h.ring.first - l.pos; l.pos < h.ring.first {
		l.pos = h.ring.first
		l.notice = &Lost{Events: lost, Reason: LostOverrun}
	}
	if l.notice != nil {
		e := newNotice(h, *l.notice)
		e.id = l.pos - 1
		l.notice = nil
		return e, nil, nil
	}
	if l.pos < h.ring.next {
		e := *h.ring.slot(l.pos)
		l.pos++
		return e, nil, nil
	}
	select {
	case <-h.done:
		return nil, nil, ErrClosed
	default:
	}
	return nil, h.wake, nil
}

// skip moves the listener behind the newest event.
func (l *Listener) skip() {
	l.hub.mu.RLock()
	defer l.hub.mu.RUnlock()
	l.pos, l.notice = l.hub.ring.next, nil
}

// Recent returns the last events that a filter selects, at most n, the oldest first, as far as the hub
// keeps them, and the position behind the newest event, for Filter.After of a listener that goes on from
// there. It does not count as a listener, and Filter.After does not matter.
func (h *Hub) Recent(f Filter, n int) (items []Item, after string) {
	wants := f.selects()
	h.mu.RLock()
	defer h.mu.RUnlock()
	for id := h.ring.next; id > h.ring.first && len(items) < n; id-- {
		if e := *h.ring.slot(id - 1); e.lost == nil && wants(e.tag) {
			items = append(items, Item{e})
		}
	}
	slices.Reverse(items)
	return items, string(appendPosition(nil, h.run, h.ring.next-1))
}
